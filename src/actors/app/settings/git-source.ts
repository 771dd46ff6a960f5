/** Owns what a GIT source says of where it comes from. */
import type { DeploymentRecord, GitSource } from '../../../store/records/records.ts';

/** Whether people push to it here: it has no connection, and what it names is no address. */
export function takesPushes({ connectionId, repository }: GitSource): boolean {
  return connectionId === null && !repository.includes('://');
}

/** The tar that a release was built from, among the app's uploads. */
export function sourceBlob({ id, release }: Pick<DeploymentRecord, 'id' | 'release'>): string {
  return `${release ?? id}.tar`;
}
