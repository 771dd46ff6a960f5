/** Owns the steps of a takeover: a machine of another platform becomes a server of ours. */
import { ServiceError } from '../../lib/errors.ts';
import type { TakeoverState } from '../../store/records/records.ts';

const next: Readonly<Record<TakeoverState, readonly TakeoverState[]>> = {
  waiting: ['done', 'removing', 'failed'],
  removing: ['removed', 'failed'],
  done: [],
  removed: [],
  failed: [],
};

/** Those that the installer reports. */
export const reportedStates = ['done', 'removing', 'removed', 'failed'] as const;

export function isFinal(state: TakeoverState): boolean {
  return next[state].length === 0;
}

/** Throws ILLEGAL_STEP. The same state again is none. */
export function mustFollow(from: TakeoverState, to: TakeoverState): void {
  if (from === to || next[from].includes(to)) return;
  const allowed = next[from].length === 0 ? 'it is over' : `next is ${next[from].join(', ')}`;
  throw new ServiceError('ILLEGAL_STEP', `The takeover is ${from}, not ${to}: ${allowed}.`);
}
