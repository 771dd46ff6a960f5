/**
 * Owns when a handshake begins. Each takes the loop that all visitors share for a millisecond, mostly for one
 * signature: in a turn of the loop there is one. The order is kept.
 */
export class HandshakeTurns {
  readonly #waiting = new Set<() => void>();

  /** Calls `begin` in a turn of its own, unless the returned function was called before. */
  wait(begin: () => void): () => void {
    if (this.#waiting.size === 0) setImmediate(() => this.#next());
    this.#waiting.add(begin);
    return () => this.#waiting.delete(begin);
  }

  #next(): void {
    const [begin] = this.#waiting;
    if (begin === undefined) return;
    this.#waiting.delete(begin);
    if (this.#waiting.size > 0) setImmediate(() => this.#next());
    begin();
  }
}
