/** Owns what a GIT source says of where it comes from. */
import type { GitSource } from '../../../store/records/records.ts';

/** Whether people push to it here: it has no connection, and what it names is no address. */
export function takesPushes({ connectionId, repository }: GitSource): boolean {
  return connectionId === null && !repository.includes('://');
}
