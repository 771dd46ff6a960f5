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
