/**
 * Owns what is noted in memory on a hot path and written a little later, all of it at once.
 *
 * 1. At most `pendingMax` notes wait; what comes above that is dropped.
 * 2. What is lost by a crash is a few seconds of notes, nothing else.
 */
import type { Clock } from '../../lib/clock.ts';

const writtenAfterMs = 5_000;
const pendingMax = 10_000;

export interface LateBatchOptions<Value> {
  clock: Clock;
  /** Never called without a note. */
  write(notes: readonly [key: string, value: Value][]): void;
}

export class LateBatch<Value> {
  readonly #options: LateBatchOptions<Value>;
  readonly #pending = new Map<string, Value>();
  #cancel: (() => void) | null = null;

  constructor(options: LateBatchOptions<Value>) {
    this.#options = options;
  }

  has(key: string): boolean {
    return this.#pending.has(key);
  }

  note(key: string, value: Value): void {
    if (this.#pending.size >= pendingMax) return;
    this.#pending.set(key, value);
    this.#cancel ??= this.#options.clock.after(writtenAfterMs, () => {
      this.#write();
    });
  }

  /** Writes what waits. */
  close(): void {
    this.#cancel?.();
    this.#write();
  }

  #write(): void {
    this.#cancel = null;
    if (this.#pending.size === 0) return;
    const notes = [...this.#pending];
    this.#pending.clear();
    this.#options.write(notes);
  }
}
