/**
 * Owns the address that all open connections share, if they do, as behind a proxy. Asking the kernel for it
 * with each request would cost a tenth of a short answer.
 */
export class Peers {
  #open = 0;
  #only: string | null = null;

  /** The address of every open connection; null when they have several. */
  get only(): string | null {
    return this.#only;
  }

  opened(address: string): void {
    if (this.#open++ === 0) this.#only = address;
    else if (this.#only !== address) this.#only = null;
  }

  closed(): void {
    this.#open -= 1;
  }
}
