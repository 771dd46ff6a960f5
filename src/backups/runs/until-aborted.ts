/** Owns not waiting any longer for what does not heed its signal. */

/** The promise's outcome, or the reason of `signal` as soon as that aborts. */
export function untilAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const stop = (): void => reject(signal.reason as Error);
    const done = (): void => signal.removeEventListener('abort', stop);
    promise.then(resolve, reject).finally(done);
    if (signal.aborted) stop();
    else signal.addEventListener('abort', stop, { once: true });
  });
}

/** The chunks, until `signal` aborts. Then, and when nobody reads on, the source is told to end. */
export async function* chunksUntilAborted(
  source: AsyncIterable<Uint8Array>,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array> {
  const chunks = source[Symbol.asyncIterator]();
  let isOver = false;
  try {
    for (;;) {
      const next = await untilAborted(chunks.next(), signal);
      if (next.done === true) {
        isOver = true;
        return;
      }
      yield next.value;
    }
  } finally {
    // A source that hangs cannot be waited for; what it throws now was not asked for.
    if (!isOver) void Promise.resolve(chunks.return?.()).catch(() => undefined);
  }
}
