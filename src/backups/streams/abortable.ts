/** Owns the end of a stream by a signal, also while its source has nothing to give. */
import { untilAborted } from './until-aborted.ts';

/**
 * The chunks of `source` until `signal` is aborted, which rejects the reading at once with its reason. The
 * source is told to end then, but not waited for.
 */
export async function* abortable(
  source: AsyncIterable<Uint8Array>,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array> {
  const chunks = source[Symbol.asyncIterator]();
  try {
    signal.throwIfAborted();
    for (;;) {
      // A race against one promise for all of them would keep something of each chunk.
      const next = await untilAborted(chunks.next(), signal);
      if (next.done === true) return;
      yield next.value;
    }
  } finally {
    const ended = chunks.return?.();
    if (!signal.aborted) await ended;
    else ended?.catch(() => undefined);
  }
}
