/**
 * Owns waiting for a runner: for how long, and what happens when it does not answer or the caller gives
 * up.
 */
import { type Clock, pause, whenLate } from '../../lib/clock.ts';
import { ServiceError } from '../../lib/errors.ts';

export function unreachable(cause?: unknown): ServiceError {
  return new ServiceError('AGENT_UNREACHABLE', 'The process runner does not answer.', { cause });
}

/** Rejects with AGENT_UNREACHABLE when the answer does not come in time. */
export function within<T>(clock: Clock, untilMs: number, answer: Promise<T>): Promise<T> {
  if (untilMs === Infinity) return answer;
  return new Promise((resolve, reject) => {
    const cancel = whenLate(clock, untilMs - clock.now(), () => reject(unreachable()));
    void answer.then(resolve, reject).finally(cancel);
  });
}

const everyMs = 5_000;
const silenceMs = 10_000;

/** Asks for a sign of life regularly. Rejects when none came for long, and when `signal` aborts. */
export async function listenForSigns(
  clock: Clock,
  ask: () => Promise<unknown>,
  signal: AbortSignal,
): Promise<never> {
  for (;;) {
    await pause(clock, everyMs, signal);
    await within(clock, clock.now() + silenceMs, ask());
  }
}

/** The result of `work`, or undefined once `signal` aborts. No listener stays on the signal. */
export function unlessAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T | undefined> {
  return new Promise((resolve, reject) => {
    const giveUp = (): void => resolve(undefined);
    if (signal.aborted) giveUp();
    signal.addEventListener('abort', giveUp, { once: true });
    void work.then(resolve, reject).finally(() => signal.removeEventListener('abort', giveUp));
  });
}
