/** Owns what a stored connection gives to those who use it, and what its secrets are sealed for. */
import type { GitRemote, GitRepository, ProviderConnection } from '../../git/providers/provider.ts';
import { providerApi } from '../../git/providers/provider-api.ts';
import { providers } from '../../git/providers/providers.ts';
import { ServiceError } from '../../lib/errors.ts';
import type { GuardedFetch } from '../../lib/guarded-fetch.ts';
import type { Reader } from '../../store/reader-and-journal.ts';
import type { GitConnectionRecord } from '../../store/records/records.ts';
import { tables } from '../../store/records/tables.ts';
import type { SecretBox } from '../workload/deps.ts';

type Connection = Readonly<GitConnectionRecord>;
type Opens = Pick<SecretBox, 'open'>;

export function tokenContext(id: string): string {
  return `git-token:${id}`;
}

export function webhookSecretContext(id: string): string {
  return `git-webhook-secret:${id}`;
}

/** What deliveries are signed with; null for none. */
export function openWebhookSecret(secrets: Opens, { id, secretSealed }: Connection): string | null {
  return secretSealed === null ? null : secrets.open(secretSealed, webhookSecretContext(id));
}

/** What repositories are read with; null for none. */
export function openGitToken(secrets: Opens, { id, tokenSealed }: Connection): string | null {
  return tokenSealed === null ? null : secrets.open(tokenSealed, tokenContext(id));
}

/** All of them, for those who look for secrets in a text. */
export function openGitSecrets(secrets: Opens, record: Connection): string[] {
  const both = [openGitToken(secrets, record), openWebhookSecret(secrets, record)];
  return both.filter((one) => one !== null);
}

/**
 * Where a repository of the connection is fetched from, named by its full name or by an address below that of the
 * connection. Throws BAD_USER_INPUT.
 */
export function remoteOfConnection(
  secrets: Opens,
  record: Connection,
  repository: string,
): GitRemote {
  const { provider, baseUrl } = record;
  const isAddress = repository.startsWith(`${baseUrl}/`);
  const name = isAddress ? repository.slice(baseUrl.length + 1) : repository;
  const fullName = name.replace(/\.git$/, '');
  return providers[provider].remote(opened(secrets, record), fullName);
}

function opened(secrets: Opens, record: Connection): ProviderConnection {
  const { baseUrl, username } = record;
  return { baseUrl, username, token: openGitToken(secrets, record) };
}

/** The list of repositories that a connection reaches. */
export type ListRepositories = (connectionId: string, search: string) => Promise<GitRepository[]>;

/** Rejects with GIT_PROVIDER_FAILED. */
export function repositoryLists(parts: {
  reader: Reader;
  secrets: Opens;
  fetch: Pick<GuardedFetch, 'get'>;
}): ListRepositories {
  const api = providerApi(parts.fetch);
  return (connectionId, search) => {
    const record = parts.reader.get(tables.gitConnections, connectionId);
    if (!record) return Promise.reject(new ServiceError('NOT_FOUND', 'No such git connection.'));
    const connection = opened(parts.secrets, record);
    return providers[record.provider].repositories(connection, search, api);
  };
}
