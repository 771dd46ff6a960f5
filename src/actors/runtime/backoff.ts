/** Owns how long a supervisor waits before it activates a crashed actor again. */

export interface BackoffOptions {
  /** Delay after the second crash in a row; the first restarts at once. Default 100. */
  firstMs?: number;
  /** Default 30,000. */
  maxMs?: number;
  /** A crash this long after the one before starts the row anew. Default 60,000. */
  calmMs?: number;
}

export class Backoff {
  readonly #firstMs: number;
  readonly #maxMs: number;
  readonly #calmMs: number;
  #crashes = 0;
  #lastCrashMs = Number.NEGATIVE_INFINITY;

  constructor({ firstMs = 100, maxMs = 30_000, calmMs = 60_000 }: BackoffOptions = {}) {
    this.#firstMs = firstMs;
    this.#maxMs = maxMs;
    this.#calmMs = calmMs;
  }

  /** Counts a crash and says how many milliseconds to wait. */
  crashed(nowMs: number): number {
    if (nowMs - this.#lastCrashMs > this.#calmMs) this.#crashes = 0;
    this.#lastCrashMs = nowMs;
    this.#crashes += 1;
    if (this.#crashes === 1) return 0;
    return Math.min(this.#firstMs * 2 ** (this.#crashes - 2), this.#maxMs);
  }
}
