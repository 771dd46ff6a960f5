/**
 * Owns long work on the event loop in short slices. Work items take turns, and every few milliseconds
 * the loop does its other work before they continue.
 */

/** Does a small piece of work; returns whether there is more. */
export type Piece = () => boolean;

export class LoopSlices {
  readonly #sliceMs: number;
  readonly #pieces = new Set<Piece>();
  #scheduled = false;

  constructor(sliceMs: number) {
    this.#sliceMs = sliceMs;
  }

  /** Calls `piece` until it has no more to do. Adding it again meanwhile changes nothing. */
  add(piece: Piece): void {
    this.#pieces.add(piece);
    this.#schedule();
  }

  #schedule(): void {
    if (this.#scheduled) return;
    this.#scheduled = true;
    setImmediate(this.#slice);
  }

  readonly #slice = (): void => {
    this.#scheduled = false;
    const endMs = performance.now() + this.#sliceMs;
    // A piece with more to do is put back at the end of the set, so that all take turns.
    for (const piece of this.#pieces) {
      this.#pieces.delete(piece);
      if (piece()) this.#pieces.add(piece);
      if (performance.now() >= endMs) break;
    }
    if (this.#pieces.size > 0) this.#schedule();
  };
}
