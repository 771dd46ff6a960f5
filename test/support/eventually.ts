/** Owns waiting for a condition, for tests. */

/**
 * Resolves with what `check` finds, once that is neither undefined nor false. It asks again and again,
 * the more seldom the longer it has waited: asking every few milliseconds took a quarter of all CPU.
 * What it throws ends the waiting; so do `timeoutMs`, with what was waited for.
 */
export async function found<T>(
  what: string,
  check: () => T | undefined | false | Promise<T | undefined | false>,
  timeoutMs = 45_000,
): Promise<T> {
  const startedMs = performance.now();
  for (;;) {
    const one = await check();
    if (one !== undefined && one !== false) return one;
    const waitedMs = performance.now() - startedMs;
    if (waitedMs > timeoutMs) throw new Error(`Waited in vain: ${what}`);
    const pauseMs = Math.min(Math.max(5, waitedMs / 10), 100);
    await new Promise((resolve) => setTimeout(resolve, pauseMs));
  }
}

/** The same, for a condition. */
export async function eventually(
  what: string,
  condition: () => boolean | Promise<boolean>,
  timeoutMs?: number,
): Promise<void> {
  await found(what, condition, timeoutMs);
}

/** The same, with a limit of its own. */
export async function until(
  what: string,
  timeoutMs: number,
  condition: () => boolean | Promise<boolean>,
): Promise<void> {
  await found(what, condition, timeoutMs);
}
