/** Owns patience with a driver that is not reached for a moment, as while its runner starts anew. */
import { type Clock, pause } from '../../lib/clock.ts';
import { ServiceError } from '../../lib/errors.ts';

const pauseMs = 500;
const patienceMs = 30_000;

/**
 * Repeats a call that is refused with AGENT_UNREACHABLE, for about half a minute. What the driver itself
 * waited before it refused counts; what had gone on for longer by then, as a build, was work.
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

/** As a call, because the compiler takes a property it has seen false to stay so. */
export function isAborted(signal: AbortSignal): boolean {
  return signal.aborted;
}
