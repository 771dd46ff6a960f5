/**
 * Owns how the ends of workloads of apps and databases are judged, and what people are told of unasked
 * ends.
 */
import type { Exit, Workload, WorkloadState } from '../../protocol/workload.ts';

/** The last output of an ended workload may be stored this much later; a restart waits at least as long. */
export const lastWordsMs = 100;
/** People call a restart within this time immediate. */
const soonMs = 1500;

/** A workload that ended this often before it was healthy has failed. */
const exitsMax = 3;

/** How it ended, as a sentence; null while it runs, or is started again and may still succeed. */
export function endOf(
  workload: Workload | undefined,
  gone: string,
  describe: (exit: Exit) => string,
): string | null {
  if (workload === undefined) return gone;
  const { state } = workload;
  switch (state.phase) {
    case 'running':
      return null;
    case 'waiting':
      return state.restarts + 1 >= exitsMax ? describe(state.lastExit) : null;
    case 'ended':
      return describe(state.exit);
  }
}

/** Whether it did not start because its image is missing, in the words of container drivers. */
export function lacksImage({ state }: Workload): boolean {
  if (state.phase !== 'ended' || state.exit.reason !== 'failed_to_start') return false;
  return /no such image/i.test(state.exit.detail ?? '');
}

/** The number of unasked ends that the driver reports, and the last one; null: none, or it ended for good. */
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

/** A sentence that begins with `who` ended; `when` follows the manner. */
export function describeExit(
  { detail, reason, signal, code }: Exit,
  who: string,
  when = '',
): string {
  if (detail !== null) return detail;
  if (reason === 'lost') return `${who} was lost when its server stopped.`;
  if (reason === 'deadline') return `${who} took too long.`;
  if (signal !== null) return `${who} was ended by ${signal}${when}.`;
  return `${who} exited with code ${String(code ?? 'unknown')}${when}.`;
}

/** A sentence about the end of a workload that was well before. */
export function describeEnd(exit: Exit, who: string): string {
  const { cause, detail, reason, signal, code } = exit;
  if (cause === 'unhealthy') return `${who} was ended because its health check failed.`;
  if (detail === null && reason === 'stopped') return `${who} was stopped from outside.`;
  const isKnown = detail !== null || reason === 'lost' || signal !== null || code !== null;
  return isKnown ? describeExit(exit, who) : `${who} ended.`;
}

/** What comes next, as a sentence without its full stop. */
export function describeNext(state: WorkloadState, nowMs: number): string {
  if (state.phase === 'running') return 'It runs again';
  const waitMs = state.phase === 'waiting' ? state.nextStartAtMs - nowMs : 0;
  return `It is started again${waitMs > soonMs ? ` in ${String(Math.ceil(waitMs / 1000))} s` : ''}`;
}
