/** Owns where an app with source GIT is fetched from. */
import type { GitRemote } from '../../../git/providers/provider.ts';
import { ServiceError } from '../../../lib/errors.ts';
import type { AppRecord } from '../../../store/records/records.ts';

/** Throws NOT_DEPLOYABLE: its connection is not there. */
export function remoteOf({ git }: Readonly<AppRecord>): GitRemote {
  if (git?.connectionId !== null) {
    throw new ServiceError('NOT_DEPLOYABLE', 'The connection to the git server is not there.');
  }
  return { url: git.repository, credentials: null };
}
