/** Owns waiting for a condition, for tests. */

/**
 * Resolves with what `check` finds, once that is neither undefined nor false; asks again and again.
 * What it throws ends the waiting; so do `timeoutMs`, with what was waited for.
 */
export async function found<T>(
  what: string,
  check: () => T | undefined | false | Promise<T | undefined | false>,
  timeoutMs = 45_000,
): Promise<T> {
  const endMs = performance.now() + timeoutMs;
  for (;;) {
    const one = await check();
    if (one !== undefined && one !== false) return one;
    if (performance.now() > endMs) throw new Error(`Waited in vain: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 5));
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
