/** Owns where an app with source GIT is fetched from. */
import type { GitRemote } from '../../../git/providers/provider.ts';
import { ServiceError } from '../../../lib/errors.ts';
import type { Reader } from '../../../store/reader-and-journal.ts';
import type { AppRecord } from '../../../store/records/records.ts';
import { tables } from '../../../store/records/tables.ts';
import { fullNameOf, remoteOfConnection } from '../../git/connection.ts';
import { repositoryToken, type RepositoryTokenParts } from '../../git/repository-token.ts';

export interface RemoteParts extends RepositoryTokenParts {
  reader: Pick<Reader, 'get'>;
}

/** Rejects with NOT_DEPLOYABLE: its connection is not there; and with GIT_PROVIDER_FAILED. */
export async function remoteOf(
  { reader, ...parts }: RemoteParts,
  { git, teamId }: Readonly<AppRecord>,
): Promise<GitRemote> {
  const { connectionId = null, repository = '' } = git ?? {};
  if (connectionId === null) return { url: repository, credentials: null };
  const connection = reader.get(tables.gitConnections, connectionId);
  // The token of another team is never sent for it.
  if (connection?.teamId !== teamId) {
    throw new ServiceError('NOT_DEPLOYABLE', 'The connection to the git server is not there.');
  }
  const token = await repositoryToken(parts, connection, fullNameOf(connection, repository));
  return remoteOfConnection(connection, repository, token);
}
