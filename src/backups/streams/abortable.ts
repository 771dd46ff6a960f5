/** Owns the end of a stream by a signal, also while its source has nothing to give. */

/**
 * The chunks of `source` until `signal` is aborted, which rejects the reading at once with its reason. The
 * source is told to end then, but not waited for.
 */
export async function* abortable(
  source: AsyncIterable<Uint8Array>,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array> {
  const chunks = source[Symbol.asyncIterator]();
  const aborted = Promise.withResolvers<never>();
  const abort = (): void => aborted.reject(signal.reason as Error);
  aborted.promise.catch(() => undefined);
  signal.addEventListener('abort', abort, { once: true });
  try {
    signal.throwIfAborted();
    for (;;) {
      const next = await Promise.race([chunks.next(), aborted.promise]);
      if (next.done === true) return;
      yield next.value;
    }
  } finally {
    signal.removeEventListener('abort', abort);
    const ended = chunks.return?.();
    if (!signal.aborted) await ended;
    else ended?.catch(() => undefined);
  }
}
