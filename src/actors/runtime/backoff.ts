/** Owns how long a supervisor waits before it activates a crashed actor again. */

/** The pause after the second crash in a row; after the first there is none. */
const firstMs = 100;
const maxMs = 30_000;
/** A crash this long after the previous one starts a new row. */
const calmMs = 60_000;

export class Backoff {
  #crashes = 0;
  #lastCrashMs = Number.NEGATIVE_INFINITY;

  /** Counts a crash. Returns the milliseconds to wait. */
  crashed(nowMs: number): number {
    if (nowMs - this.#lastCrashMs > calmMs) this.#crashes = 0;
    this.#lastCrashMs = nowMs;
    this.#crashes += 1;
    if (this.#crashes === 1) return 0;
    return Math.min(firstMs * 2 ** (this.#crashes - 2), maxMs);
  }
}
