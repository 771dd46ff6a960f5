/** Owns waiting for a condition, for tests. */

/** Resolves when `condition` holds; rejects after `timeoutMs` with what was waited for. */
export async function eventually(
  what: string,
  condition: () => boolean,
  timeoutMs = 20_000,
): Promise<void> {
  const endMs = performance.now() + timeoutMs;
  while (!condition()) {
    if (performance.now() > endMs) throw new Error(`Waited in vain: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
}
