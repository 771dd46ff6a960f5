/** Owns what a repository of a connection is read with. */
import type { GitConnectionRecord } from '../../store/records/records.ts';
import type { SecretBox } from '../workload/deps.ts';
import { openGitToken } from './connection.ts';
import type { GithubConnections } from './github-connections.ts';

export interface RepositoryTokenParts {
  secrets: Pick<SecretBox, 'open'>;
  github: Pick<GithubConnections, 'token'>;
}

/** That of the App for the repository alone, where there is an App; null for none. Rejects with GIT_PROVIDER_FAILED. */
export async function repositoryToken(
  { secrets, github }: RepositoryTokenParts,
  connection: Readonly<GitConnectionRecord>,
  fullName: string,
): Promise<string | null> {
  if (connection.github === undefined) return openGitToken(secrets, connection);
  return await github.token(connection, fullName);
}
