/**
 * Owns how a stored connection to GitHub is used: its App says who it is, and gets a token for each
 * installation. Everything rejects with GIT_PROVIDER_FAILED.
 */
import { appToken } from '../../git/github/app-token.ts';
import { GithubApi, type Installation } from '../../git/github/github-api.ts';
import { InstallationTokens } from '../../git/github/installation-tokens.ts';
import type { CommitStatus, GitRepository, PostingApi } from '../../git/providers/provider.ts';
import { providerApi, type ProviderFetch } from '../../git/providers/provider-api.ts';
import { github } from '../../git/providers/github.ts';
import type { Clock } from '../../lib/clock.ts';
import type { GitConnectionRecord } from '../../store/records/records.ts';
import type { SecretBox } from '../workload/deps.ts';
import { openGithubKey, providerConnection } from './connection.ts';

export interface GithubParts {
  secrets: Pick<SecretBox, 'open'>;
  fetch: ProviderFetch;
  clock: Clock;
}

type Connection = Readonly<GitConnectionRecord>;

const repositoriesMax = 100;

export class GithubConnections {
  readonly #parts: GithubParts;
  readonly #api: PostingApi;
  readonly #tokens: InstallationTokens;

  constructor(parts: GithubParts) {
    this.#parts = parts;
    this.#api = providerApi(parts.fetch);
    this.#tokens = new InstallationTokens(parts.clock);
  }

  /** Of the installation that reaches a repository. */
  async token(connection: Connection, fullName: string): Promise<string> {
    const jwt = await this.#jwt(connection);
    const { id } = await this.#apiOf(connection).installationOn(jwt, fullName);
    return this.#tokenOf(connection, id);
  }

  /** The tokens of a connection may have been revoked: the next ones are new. */
  forget(connectionId: string): void {
    this.#tokens.forget(connectionId);
  }

  /** Those that the installations reach, at most 100; `search` is part of their full name. */
  async repositories(connection: Connection, search: string): Promise<GitRepository[]> {
    const jwt = await this.#jwt(connection);
    const found: GitRepository[] = [];
    for (const { id } of await this.#apiOf(connection).installations(jwt)) {
      const token = await this.#tokenOf(connection, id);
      const reached = providerConnection(connection, token);
      found.push(
        ...(await this.#freshly(connection, github.repositories(reached, search, this.#api))),
      );
      if (found.length >= repositoriesMax) break;
    }
    return found.slice(0, repositoriesMax);
  }

  /** Rejects for an installation of another App. */
  async installation(connection: Connection, id: number): Promise<Installation> {
    return this.#apiOf(connection).installation(await this.#jwt(connection), id);
  }

  async report(
    connection: Connection,
    fullName: string,
    sha: string,
    status: CommitStatus,
  ): Promise<void> {
    const token = await this.token(connection, fullName);
    const reporting = this.#apiOf(connection).report(token, fullName, sha, status);
    await this.#freshly(connection, reporting);
  }

  #apiOf({ baseUrl }: Connection): GithubApi {
    return new GithubApi(this.#api, baseUrl);
  }

  #jwt(connection: Connection): Promise<string> {
    const { secrets, clock } = this.#parts;
    const key = openGithubKey(secrets, connection);
    if (connection.github === undefined || key === null) throw new Error('no connection to GitHub');
    return appToken(connection.github.appId, key, clock.now());
  }

  #tokenOf(connection: Connection, installationId: number): Promise<string> {
    return this.#tokens.get(connection.id, installationId, async () =>
      this.#apiOf(connection).token(await this.#jwt(connection), installationId),
    );
  }

  /** What was refused may be so for its token. */
  async #freshly<T>({ id }: Connection, asking: Promise<T>): Promise<T> {
    try {
      return await asking;
    } catch (error) {
      this.forget(id);
      throw error;
    }
  }
}
