/**
 * Owns the guess whether a query comes alone: nobody else asked in this turn of the loop, nor in the
 * last one in which anybody did.
 */
export class Crowd {
  #thisTurn = 0;
  #lastTurn = 0;
  readonly #endTurn = (): void => {
    this.#lastTurn = this.#thisTurn;
    this.#thisTurn = 0;
  };

  /** Counts one in; whether it comes alone. */
  join(): boolean {
    if (this.#thisTurn++ === 0) setImmediate(this.#endTurn);
    return this.#thisTurn === 1 && this.#lastTurn <= 1;
  }
}
