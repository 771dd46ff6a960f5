/** Owns what is open while the bench runs, so that a signal ends it, too: then the process exits. */
export interface Closable {
  close(): void | Promise<void>;
}

export class Interrupts {
  readonly #open = new Set<Closable>();

  listen(): void {
    const stop = (code: number): void => void this.closeAll().finally(() => process.exit(code));
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
      process.once(signal, () => stop(130));
    }
    process.once('uncaughtException', (error) => {
      console.error(error);
      stop(1);
    });
  }

  /** Works with something and closes it, whatever happens. */
  async using<C extends Closable, T>(closable: C, work: (closable: C) => Promise<T>): Promise<T> {
    this.#open.add(closable);
    try {
      return await work(closable);
    } finally {
      await closable.close();
      this.#open.delete(closable);
    }
  }

  async closeAll(): Promise<void> {
    // What was opened last goes first: a server before the tree that it runs from.
    for (const closable of [...this.#open].reverse()) await closable.close();
  }
}
