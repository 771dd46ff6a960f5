/**
 * Owns the turns of two runs of one scenario: only one of them runs at a time, and it hands over at the
 * beginning of each of its rounds.
 */
export class Turns {
  #waiting: { resume: () => void; fail: (error: unknown) => void } | null = null;
  #failure: { error: unknown } | null = null;
  #alone = false;

  /** Runs both, the first one first; the results, or the first failure once both have ended. */
  async run<T>(first: () => Promise<T>, second: () => Promise<T>): Promise<[T, T]> {
    const settled = await Promise.allSettled([
      // What comes second must wait before the first one can hand over.
      this.#side(() => this.#wait().then(second)),
      this.#side(first),
    ]);
    if (this.#failure !== null) throw this.#failure.error;
    const [last, begun] = settled as [PromiseFulfilledResult<T>, PromiseFulfilledResult<T>];
    return [begun.value, last.value];
  }

  /** Hands over, and returns when it is this side's turn again. Fails where the other side failed. */
  async next(): Promise<void> {
    if (this.#failure !== null) throw this.#failure.error;
    if (this.#alone) return;
    const other = this.#waiting;
    const turn = this.#wait();
    other?.resume();
    await turn;
  }

  async #side<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      this.#failure ??= { error };
      throw error;
    } finally {
      this.#leave();
    }
  }

  async #wait(): Promise<void> {
    await new Promise<void>((resume, fail) => {
      this.#waiting = { resume, fail };
    });
  }

  #leave(): void {
    this.#alone = true;
    if (this.#failure !== null) this.#waiting?.fail(this.#failure.error);
    else this.#waiting?.resume();
    this.#waiting = null;
  }
}
