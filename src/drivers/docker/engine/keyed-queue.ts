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
}
