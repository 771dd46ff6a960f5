/**
 * Owns how much of one turn of the loop queries have taken on this thread: what others wait who come
 * in the same turn.
 */
export class Turn {
  readonly #maxUs: number;
  #spentUs = 0;
  #endsSoon = false;
  readonly #end = (): void => {
    this.#spentUs = 0;
    this.#endsSoon = false;
  };

  constructor(maxUs: number) {
    this.#maxUs = maxUs;
  }

  /** Whether as much more may be done in this turn. */
  hasRoom(us: number): boolean {
    return this.#spentUs + us <= this.#maxUs;
  }

  spend(us: number): void {
    this.#spentUs += us;
    if (this.#endsSoon) return;
    this.#endsSoon = true;
    setImmediate(this.#end);
  }
}
