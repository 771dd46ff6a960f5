/**
 * Owns what is known of the other ends of all open connections: where all of them have one address,
 * as behind a proxy, the kernel need not be asked for it with every request, which costs a tenth of
 * what a short answer does.
 *
 * 1. While all open connections came from one address, that is the address of each; else nothing is
 *    said.
 */
export class Peers {
  #open = 0;
  #only: string | null = null;

  /** The address of every open connection; null where they have several. */
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
