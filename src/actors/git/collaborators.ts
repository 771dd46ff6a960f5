/** Owns whether who pushed to a repository is one of its collaborators, as its provider knows them. */
import { providerApi, type ProviderFetch } from '../../git/providers/provider-api.ts';
import { providers } from '../../git/providers/providers.ts';
import type { Logger } from '../../lib/log.ts';
import type { Reader } from '../../store/reader-and-journal.ts';
import type { PreviewRecord } from '../../store/records/records.ts';
import { tables } from '../../store/records/tables.ts';
import { fullNameOf, providerConnection } from './connection.ts';
import { repositoryToken, type RepositoryTokenParts } from './repository-token.ts';

export interface CollaboratorsParts extends RepositoryTokenParts {
  reader: Pick<Reader, 'get'>;
  fetch: ProviderFetch;
  logger: Logger;
}

/** They lead elsewhere in a path. */
const dots = /^\.{1,2}$/;

/**
 * Where nobody can be asked (no API for it, no token, a token that is not told) the delivery itself counts: it is of a
 * hook of the repository, which tells only of those who may push. False where the provider fails, or nobody says who pushed.
 */
export async function mayPush(
  { reader, fetch, logger, ...parts }: CollaboratorsParts,
  { teamId, connectionId, repository, pusher }: Readonly<PreviewRecord>,
): Promise<boolean> {
  const record =
    connectionId === null ? undefined : reader.get(tables.gitConnections, connectionId);
  if (record?.teamId !== teamId) return false;
  const fullName = fullNameOf(record, repository);
  try {
    const token = await repositoryToken(parts, record, fullName);
    const { mayPush: ask } = providers[record.provider];
    if (ask === null || token === null) return true;
    if (pusher === null || dots.test(pusher)) return false;
    const connection = providerConnection(record, token);
    return (await ask(connection, fullName, pusher, providerApi(fetch))) ?? true;
  } catch (err) {
    logger.warn({ connection: record.id, err }, 'collaborator_not_known');
    return false;
  }
}
