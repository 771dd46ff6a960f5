/** Owns which repositories a stored connection reaches. */
import type { GitRepository } from '../../git/providers/provider.ts';
import { providerApi, type ProviderFetch } from '../../git/providers/provider-api.ts';
import { providers } from '../../git/providers/providers.ts';
import { ServiceError } from '../../lib/errors.ts';
import type { Reader } from '../../store/reader-and-journal.ts';
import { tables } from '../../store/records/tables.ts';
import type { SecretBox } from '../workload/deps.ts';
import { openGitToken, providerConnection } from './connection.ts';
import type { GithubConnections } from './github-connections.ts';

/** The list of repositories that a connection reaches. */
export type ListRepositories = (connectionId: string, search: string) => Promise<GitRepository[]>;

/** Rejects with GIT_PROVIDER_FAILED. */
export function repositoryLists(parts: {
  reader: Reader;
  secrets: Pick<SecretBox, 'open'>;
  fetch: ProviderFetch;
  github: Pick<GithubConnections, 'repositories'>;
}): ListRepositories {
  const api = providerApi(parts.fetch);
  return (connectionId, search) => {
    const record = parts.reader.get(tables.gitConnections, connectionId);
    if (!record) return Promise.reject(new ServiceError('NOT_FOUND', 'No such git connection.'));
    if (record.github !== undefined) return parts.github.repositories(record, search);
    const connection = providerConnection(record, openGitToken(parts.secrets, record));
    return providers[record.provider].repositories(connection, search, api);
  };
}
