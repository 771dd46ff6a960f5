/** Owns how it is told that an image somebody removed is missing. */
import type { Workload } from '../../protocol/workload.ts';

/** In the words of drivers of containers. */
export function lacksImage({ state }: Workload): boolean {
  if (state.phase !== 'ended' || state.exit.reason !== 'failed_to_start') return false;
  return /no such image/i.test(state.exit.detail ?? '');
}
