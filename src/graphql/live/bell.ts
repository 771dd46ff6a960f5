/** Owns the wait of a subscription for what it follows. */

/** Waits for a ring that may have come before; an aborted signal rings for ever. */
export class Bell {
  readonly #signal: AbortSignal | null;
  #rings = false;
  #wake: (() => void) | null = null;

  constructor(signal: AbortSignal | null) {
    this.#signal = signal;
    signal?.addEventListener('abort', this.ring);
  }

  isSilenced(): boolean {
    return this.#signal?.aborted === true;
  }

  readonly ring = (): void => {
    this.#rings = true;
    this.#wake?.();
    this.#wake = null;
  };

  async rung(): Promise<void> {
    if (!this.#rings && !this.isSilenced()) {
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
    this.#rings = false;
  }

  remove(): void {
    this.#signal?.removeEventListener('abort', this.ring);
  }
}
