/** Owns queues by key: work under one key is done one after the other. */

export class KeyedQueue {
  readonly #last = new Map<string, Promise<unknown>>();

  /** Begins `work` when all earlier work under `key` has ended, however it ended. */
  async take<T>(key: string, work: () => Promise<T>): Promise<T> {
    const before = this.#last.get(key) ?? Promise.resolve();
    const mine = before.then(work, work);
    this.#last.set(key, mine);
    try {
      return await mine;
    } finally {
      if (this.#last.get(key) === mine) this.#last.delete(key);
    }
  }

  /** Begins `work` when it has the turns of all keys, each made ready by `prepare`. */
  takeAll<T>(
    keys: Iterable<string>,
    prepare: (key: string) => Promise<void>,
    work: () => Promise<T>,
  ): Promise<T> {
    // Always in the same order, so that two callers do not wait for each other.
    const [next, ...rest] = [...new Set(keys)].sort();
    if (next === undefined) return work();
    return this.take(next, async () => {
      await prepare(next);
      return this.takeAll(rest, prepare, work);
    });
  }
}
