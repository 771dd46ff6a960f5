/** Owns what a stored connection gives to those who use it, and what its secrets are sealed for. */
import type { GitRemote, ProviderConnection } from '../../git/providers/provider.ts';
import { providers } from '../../git/providers/providers.ts';
import type { GitConnectionRecord } from '../../store/records/records.ts';
import type { SecretBox } from '../workload/deps.ts';

type Connection = Readonly<GitConnectionRecord>;
type Opens = Pick<SecretBox, 'open'>;

export function tokenContext(id: string): string {
  return `git-token:${id}`;
}

export function webhookSecretContext(id: string): string {
  return `git-webhook-secret:${id}`;
}

export function githubKeyContext(id: string): string {
  return `github-app-key:${id}`;
}

/** What deliveries are signed with; null for none. */
export function openWebhookSecret(secrets: Opens, { id, secretSealed }: Connection): string | null {
  return secretSealed === null ? null : secrets.open(secretSealed, webhookSecretContext(id));
}

/** What repositories are read with; null for none. */
export function openGitToken(secrets: Opens, { id, tokenSealed }: Connection): string | null {
  return tokenSealed === null ? null : secrets.open(tokenSealed, tokenContext(id));
}

/** What the App of a connection to GitHub signs with: PEM; null for another provider. */
export function openGithubKey(secrets: Opens, { id, github }: Connection): string | null {
  return github === undefined ? null : secrets.open(github.keySealed, githubKeyContext(id));
}

/** All of them, for those who look for secrets in a text. */
export function openGitSecrets(secrets: Opens, record: Connection): string[] {
  const all = [openGitToken, openWebhookSecret, openGithubKey].map((open) => open(secrets, record));
  return all.filter((one) => one !== null);
}

/** Of a repository of the connection, named so or by an address below that of the connection. */
export function fullNameOf({ baseUrl }: Connection, repository: string): string {
  const isAddress = repository.startsWith(`${baseUrl}/`);
  const name = isAddress ? repository.slice(baseUrl.length + 1) : repository;
  return name.replace(/\.git$/, '');
}

/** Where a repository of the connection is fetched from, and with which token. Throws BAD_USER_INPUT. */
export function remoteOfConnection(
  record: Connection,
  repository: string,
  token: string | null,
): GitRemote {
  const connection = providerConnection(record, token);
  return providers[record.provider].remote(connection, fullNameOf(record, repository));
}

export function providerConnection(
  { baseUrl, username }: Connection,
  token: string | null,
): ProviderConnection {
  return { baseUrl, username, token };
}
