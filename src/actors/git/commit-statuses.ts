/**
 * Owns the status of a commit at GitHub, which tells what became of its deployment.
 *
 * 1. Nobody waits for it: what cannot be told is logged, after a few tries.
 * 2. Those of one app are told in order. Only so many wait; what comes beyond is not told.
 * 3. It holds nothing of the deployment but its state and its address: many may read a repository.
 */
import type { CommitStatus } from '../../git/github/github-api.ts';
import { type Clock, pause } from '../../lib/clock.ts';
import { KeyedQueue } from '../../lib/keyed-queue.ts';
import type { Logger } from '../../lib/log.ts';
import type { Reader } from '../../store/reader-and-journal.ts';
import type { AppRecord, DeploymentRecord } from '../../store/records/records.ts';
import { tables } from '../../store/records/tables.ts';
import { fullNameOf } from './connection.ts';
import type { GithubConnections } from './github-connections.ts';

export interface CommitStatusesParts {
  reader: Pick<Reader, 'get'>;
  github: Pick<GithubConnections, 'report'>;
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

  /** Tells the state of the deployment, where its app is built from a connection to GitHub. */
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
    const what = { connectionId, repository, teamId: app.teamId, commitSha, status };
    this.#turns
      .take(app.id, () => this.#send(what))
      .catch((err: unknown) => {
        this.#parts.logger.warn({ deployment: deployment.id, err }, 'commit_status_not_told');
      })
      .finally(() => {
        this.#waiting -= 1;
      });
  }

  async #send({ connectionId, repository, teamId, commitSha, status }: What): Promise<void> {
    const { reader, github, clock } = this.#parts;
    for (let tries = 0; ; tries++) {
      const connection = reader.get(tables.gitConnections, connectionId);
      if (connection?.github === undefined || connection.teamId !== teamId) return;
      try {
        await github.report(connection, fullNameOf(connection, repository), commitSha, status);
        return;
      } catch (error) {
        const waitMs = pausesMs[tries];
        if (waitMs === undefined) throw error;
        await pause(clock, waitMs);
      }
    }
  }
}

interface What {
  connectionId: string;
  repository: string;
  teamId: string;
  commitSha: string;
  status: CommitStatus;
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
