/** Owns how long a program that ended waits for its next start. */
export interface Backoff {
  firstMs: number;
  maxMs: number;
  /** A run this long counts as good: the next restart comes after `firstMs` again. */
  goodRunMs: number;
}

/** `shortRuns`: how many runs in a row were not good. */
export function restartDelayMs({ firstMs, maxMs }: Backoff, shortRuns: number): number {
  return Math.min(firstMs * 2 ** Math.max(shortRuns - 1, 0), maxMs);
}
