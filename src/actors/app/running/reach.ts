/** Owns patience with a driver that is not reached for a moment, as while its runner starts anew. */
import { type Clock, pause } from '../../../lib/clock.ts';
import { ServiceError } from '../../../lib/errors.ts';

const pauseMs = 500;
const patienceMs = 30_000;

/** Repeats a call that is refused with AGENT_UNREACHABLE, for about half a minute from the first time. */
export async function reach<T>(
  clock: Clock,
  signal: AbortSignal,
  call: () => Promise<T>,
): Promise<T> {
  let untilMs: number | null = null;
  for (;;) {
    signal.throwIfAborted();
    try {
      return await call();
    } catch (error) {
      const unreachable = error instanceof ServiceError && error.code === 'AGENT_UNREACHABLE';
      if (!unreachable) throw error;
      untilMs ??= clock.now() + patienceMs;
      if (clock.now() >= untilMs) throw error;
    }
    await pause(clock, pauseMs, signal);
  }
}
