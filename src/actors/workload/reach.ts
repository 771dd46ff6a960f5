/** Owns the retries while a driver cannot be reached, such as while its runner restarts. */
import { type Clock, pause } from '../../lib/clock.ts';
import { ServiceError } from '../../lib/errors.ts';

const pauseMs = 500;
const patienceMs = 30_000;

/**
 * Repeats a call that is refused with AGENT_UNREACHABLE, for about half a minute. The driver's own waiting
 * before a refusal counts. A call that ran longer, such as a build, was work and does not count.
 */
export async function reach<T>(
  clock: Clock,
  signal: AbortSignal,
  call: () => Promise<T>,
): Promise<T> {
  let untilMs: number | null = null;
  for (;;) {
    signal.throwIfAborted();
    const beganMs = clock.now();
    try {
      return await call();
    } catch (error) {
      const unreachable = error instanceof ServiceError && error.code === 'AGENT_UNREACHABLE';
      if (!unreachable) throw error;
      const refusedMs = clock.now();
      const waitedMs = refusedMs - beganMs;
      untilMs ??= (waitedMs < patienceMs ? beganMs : refusedMs) + patienceMs;
      if (refusedMs >= untilMs) throw error;
    }
    await pause(clock, pauseMs, signal);
  }
}

/** A function, because the compiler assumes that a property once seen false stays false. */
export function isAborted(signal: AbortSignal): boolean {
  return signal.aborted;
}
