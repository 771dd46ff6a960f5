/**
 * Owns the signals that end the service: the first drains, a later one ends at once.
 *
 * A single stop may bring its signal twice: Ctrl-C and a signal to the process group reach both npm and
 * Gangway, and npm passes its own on. So a signal within `sameStopMs` of the first belongs to the same
 * stop.
 */
import { type Clock, systemClock } from '../lib/clock.ts';

export interface StopHandlers {
  drain(signal: string): void;
  endNow(): void;
}

/** What sends signals: the process itself, or a test. */
interface SignalSource {
  on(signal: 'SIGTERM' | 'SIGINT', handler: (signal: string) => void): unknown;
}

/** Long enough for an npm on a busy machine, too short for a person who has lost patience. */
export const sameStopMs = 2_000;

type Phase = 'serving' | 'told' | 'ending';

export function stopOnSignals(
  handlers: StopHandlers,
  source: SignalSource = process,
  clock: Clock = systemClock,
): void {
  let phase: Phase = 'serving';
  const onSignal = (signal: string): void => {
    switch (phase) {
      case 'serving':
        phase = 'told';
        clock.after(sameStopMs, () => (phase = 'ending'));
        handlers.drain(signal);
        return;
      case 'told':
        return;
      case 'ending':
        handlers.endNow();
    }
  };
  source.on('SIGTERM', onSignal);
  source.on('SIGINT', onSignal);
}
