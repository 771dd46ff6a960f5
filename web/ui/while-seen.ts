/** Owns doing something again and again while somebody looks at the tab. */

/** Not while the tab is hidden, and at once when it is looked at again. The returned function ends it. */
export function whileSeen(everyMs: number, act: () => void): () => void {
  let timer: ReturnType<typeof setInterval> | undefined;
  const start = (): void => {
    timer ??= setInterval(act, everyMs);
  };
  const stop = (): void => {
    clearInterval(timer);
    timer = undefined;
  };
  const onLook = (): void => {
    if (document.visibilityState === 'hidden') return stop();
    if (timer === undefined) act();
    start();
  };
  if (document.visibilityState === 'visible') start();
  document.addEventListener('visibilitychange', onLook);
  return () => {
    stop();
    document.removeEventListener('visibilitychange', onLook);
  };
}
