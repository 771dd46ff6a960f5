/** Owns what it means that a runner does not answer, or is given up: how long it is waited for, what is said. */
import type { Clock } from '../../lib/clock.ts';
import { unreachable } from './refusals.ts';

/** An answer that does not come in time is as good as no runner. */
export function within<T>(clock: Clock, untilMs: number, answer: Promise<T>): Promise<T> {
  if (untilMs === Infinity) return answer;
  return new Promise((resolve, reject) => {
    const cancel = clock.after(untilMs - clock.now(), () => reject(unreachable()));
    void answer.then(resolve, reject).finally(cancel);
  });
}

const everyMs = 5_000;
const silenceMs = 10_000;

/** Asks for a sign again and again; calls `silent` once when none came for long. Returns how to stop. */
export function listenForSigns(
  clock: Clock,
  ask: () => Promise<unknown>,
  silent: () => void,
): () => void {
  let stopped = false;
  let cancel = (): void => undefined;
  const next = (): void => {
    if (stopped) return;
    cancel = clock.after(everyMs, () => {
      within(clock, clock.now() + silenceMs, ask()).then(next, () => {
        if (!stopped) silent();
      });
    });
  };
  next();
  return () => {
    stopped = true;
    cancel();
  };
}

/** What comes of it, or undefined once `signal` aborts. A signal that lives on holds nothing of it. */
export function unlessAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T | undefined> {
  return new Promise((resolve, reject) => {
    const giveUp = (): void => resolve(undefined);
    if (signal.aborted) giveUp();
    signal.addEventListener('abort', giveUp, { once: true });
    void work.then(resolve, reject).finally(() => signal.removeEventListener('abort', giveUp));
  });
}

export function isAborted(signal: AbortSignal): boolean {
  return signal.aborted;
}
