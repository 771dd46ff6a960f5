/**
 * Owns long work on the event loop in short slices: work items take turns, and after a few
 * milliseconds the loop gets its turn before they go on.
 */

/** Does a small piece; returns whether more is to do. */
export type Piece = () => boolean;

export class LoopSlices {
  readonly #sliceMs: number;
  readonly #pieces = new Set<Piece>();
  #scheduled = false;

  constructor(sliceMs: number) {
    this.#sliceMs = sliceMs;
  }

  /** Runs a piece until it has no more to do. Adding what runs already changes nothing. */
  add(piece: Piece): void {
    this.#pieces.add(piece);
    if (this.#scheduled) return;
    this.#scheduled = true;
    setImmediate(this.#slice);
  }

  readonly #slice = (): void => {
    this.#scheduled = false;
    const endMs = performance.now() + this.#sliceMs;
    while (this.#pieces.size > 0) {
      for (const piece of this.#pieces) {
        // Taken out before it runs and put back at the end: everyone has a turn.
        this.#pieces.delete(piece);
        if (piece()) this.#pieces.add(piece);
        if (performance.now() >= endMs) {
          if (this.#pieces.size > 0) this.#reschedule();
          return;
        }
      }
    }
  };

  #reschedule(): void {
    if (this.#scheduled) return;
    this.#scheduled = true;
    setImmediate(this.#slice);
  }
}
