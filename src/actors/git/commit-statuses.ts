/**
 * Owns the status of a commit at its provider, which tells what became of its deployment: at GitHub of every one,
 * elsewhere of previews, so that a pull request with this head leads to the address.
 *
 * 1. Nobody waits for it: what cannot be told is logged, after a few tries.
 * 2. Those of one app are told in order. Only so many wait; what comes beyond is not told.
 * 3. It holds nothing of the deployment but its state and its address: many may read a repository.
 */
import type { CommitStatus } from '../../git/providers/provider.ts';
import { providerApi, type ProviderFetch } from '../../git/providers/provider-api.ts';
import { providers } from '../../git/providers/providers.ts';
import { type Clock, pause } from '../../lib/clock.ts';
import { KeyedQueue } from '../../lib/keyed-queue.ts';
import type { Logger } from '../../lib/log.ts';
import type { Reader } from '../../store/reader-and-journal.ts';
import type {
  AppRecord,
  DeploymentRecord,
  GitConnectionRecord,
} from '../../store/records/records.ts';
import { tables } from '../../store/records/tables.ts';
import type { SecretBox } from '../workload/deps.ts';
import { fullNameOf, openGitToken, providerConnection } from './connection.ts';
import type { GithubConnections } from './github-connections.ts';

export interface CommitStatusesParts {
  reader: Pick<Reader, 'get'>;
  github: Pick<GithubConnections, 'report'>;
  secrets: Pick<SecretBox, 'open'>;
  fetch: ProviderFetch;
  clock: Clock;
  logger: Logger;
}

const waitingMax = 1_000;
/** Before each further try. */
const pausesMs = [1_000, 10_000];

export class CommitStatuses {
  readonly #parts: CommitStatusesParts;
  readonly #turns = new KeyedQueue();
  #waiting = 0;

  constructor(parts: CommitStatusesParts) {
    this.#parts = parts;
  }

  /** Tells the state of the deployment, where its app is built from a connection. */
  tell(app: Readonly<AppRecord>, deployment: Readonly<DeploymentRecord>): void {
    const { commitSha } = deployment;
    const status = statusOf(app, deployment);
    if (!app.git?.connectionId || commitSha === null || status === null) return;
    if (this.#waiting >= waitingMax) {
      this.#parts.logger.warn({ deployment: deployment.id }, 'commit_status_left_out');
      return;
    }
    this.#waiting += 1;
    const { connectionId, repository } = app.git;
    const isPreview = app.previewOf !== undefined;
    const what = { connectionId, repository, teamId: app.teamId, commitSha, status, isPreview };
    this.#turns
      .take(app.id, () => this.#send(what))
      .catch((err: unknown) => {
        this.#parts.logger.warn({ deployment: deployment.id, err }, 'commit_status_not_told');
      })
      .finally(() => {
        this.#waiting -= 1;
      });
  }

  async #send(what: What): Promise<void> {
    const { reader, clock } = this.#parts;
    const { connectionId, teamId } = what;
    for (let tries = 0; ; tries++) {
      const connection = reader.get(tables.gitConnections, connectionId);
      if (connection?.teamId !== teamId) return;
      try {
        await this.#report(connection, what);
        return;
      } catch (error) {
        const waitMs = pausesMs[tries];
        if (waitMs === undefined) throw error;
        await pause(clock, waitMs);
      }
    }
  }

  async #report(connection: Readonly<GitConnectionRecord>, what: What): Promise<void> {
    const { github, secrets, fetch } = this.#parts;
    const { repository, commitSha, status, isPreview } = what;
    const fullName = fullNameOf(connection, repository);
    if (connection.github !== undefined) {
      await github.report(connection, fullName, commitSha, status);
      return;
    }
    const { report } = providers[connection.provider];
    const token = openGitToken(secrets, connection);
    if (!isPreview || report === null || token === null) return;
    const reached = providerConnection(connection, token);
    await report(reached, fullName, commitSha, status, providerApi(fetch));
  }
}

interface What {
  connectionId: string;
  repository: string;
  teamId: string;
  commitSha: string;
  status: CommitStatus;
  isPreview: boolean;
}

function statusOf(
  { slug }: Readonly<AppRecord>,
  { status, url, startedAtMs }: Readonly<DeploymentRecord>,
): CommitStatus | null {
  const common = { context: `gangway/${slug}`, url };
  switch (status) {
    case 'building':
    case 'starting':
      return { ...common, state: 'pending', description: 'The deployment is under way.' };
    case 'ready':
      return { ...common, state: 'success', description: 'The commit is live.' };
    case 'failed':
      return { ...common, state: 'failure', description: 'The deployment failed.' };
    case 'canceled':
      // Before it began, nothing was told.
      if (startedAtMs === null) return null;
      return { ...common, state: 'failure', description: 'The deployment was canceled.' };
    case 'queued':
    case 'superseded':
      return null;
  }
}
