/** Owns how long a supervisor waits before it activates a crashed actor again. */

/** After the second crash in a row; the first restarts at once. */
const firstMs = 100;
const maxMs = 30_000;
/** A crash this long after the one before starts the row anew. */
const calmMs = 60_000;

export class Backoff {
  #crashes = 0;
  #lastCrashMs = Number.NEGATIVE_INFINITY;

  /** Counts a crash and says how many milliseconds to wait. */
  crashed(nowMs: number): number {
    if (nowMs - this.#lastCrashMs > calmMs) this.#crashes = 0;
    this.#lastCrashMs = nowMs;
    this.#crashes += 1;
    if (this.#crashes === 1) return 0;
    return Math.min(firstMs * 2 ** (this.#crashes - 2), maxMs);
  }
}
