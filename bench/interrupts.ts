/** Owns what is open while the bench runs: a signal closes it, and then the process exits. */
export interface Closable {
  close(): void | Promise<void>;
}

export class Interrupts {
  readonly #open = new Set<Closable>();
  #isStopping = false;

  /** From now on. A second signal changes nothing: npm passes on what the terminal sent already. */
  listen(): void {
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
      process.on(signal, () => this.#stop(130));
    }
    process.on('uncaughtException', (error) => {
      console.error(error);
      this.#stop(1);
    });
  }

  /** What fails from now on fails because it is being ended. */
  get isStopping(): boolean {
    return this.#isStopping;
  }

  #stop(code: number): void {
    if (this.#isStopping) return;
    this.#isStopping = true;
    void this.closeAll().finally(() => process.exit(code));
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
