/** Owns what an end that nobody asked for is to people, and how many there were, of apps and databases alike. */
import type { Exit, WorkloadState } from '../../protocol/workload.ts';

/** The last words of what ended may be stored so much later; what is started again is so no sooner. */
export const lastWordsMs = 100;
/** A restart this near is at once, to people. */
const soonMs = 1500;

/** How often it ended by itself so far, as its driver says, and how at last; null: never, or for good. */
export function endIn(state: WorkloadState): { ends: number; exit: Exit } | null {
  switch (state.phase) {
    case 'waiting':
      return { ends: state.restarts + 1, exit: state.lastExit };
    case 'running': {
      const { restarts: ends, lastExit, startedAtMs: atMs } = state;
      if (lastExit !== undefined) return { ends, exit: lastExit };
      if (ends === 0) return null;
      return { ends, exit: { code: null, signal: null, reason: 'exited', detail: null, atMs } };
    }
    case 'ended':
      return null;
  }
}

/** A sentence; `what` it is of: `app` or `database`. */
export function describeEnd(exit: Exit, what: string): string {
  if (exit.cause === 'unhealthy') return `The ${what} was ended because its health check failed.`;
  if (exit.detail !== null) return exit.detail;
  if (exit.reason === 'lost') return `The ${what} was lost when its server stopped.`;
  if (exit.reason === 'stopped') return `The ${what} was stopped from outside.`;
  if (exit.signal !== null) return `The ${what} was ended by ${exit.signal}.`;
  return exit.code === null
    ? `The ${what} ended.`
    : `The ${what} exited with code ${String(exit.code)}.`;
}

/** What comes next, as a sentence without its full stop. */
export function describeNext(state: WorkloadState, nowMs: number): string {
  if (state.phase === 'running') return 'It runs again';
  const waitMs = state.phase === 'waiting' ? state.nextStartAtMs - nowMs : 0;
  return `It is started again${waitMs > soonMs ? ` in ${String(Math.ceil(waitMs / 1000))} s` : ''}`;
}
