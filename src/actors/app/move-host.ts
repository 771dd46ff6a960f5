/** Owns what a move needs of an app: its release and its data, and what it has at the server that it is moved to. */
import { ServiceError } from '../../lib/errors.ts';
import { put } from '../../store/records/table.ts';
import { tables } from '../../store/records/tables.ts';
import type { MoveHost } from '../move/moves.ts';
import type { RestoreHost } from '../restore/restore-work.ts';
import type { AppCore } from './core.ts';
import { withoutRelease } from './deploying/deployments.ts';

export function moveHost(core: AppCore, host: RestoreHost): MoveHost {
  const live = (): string | null => {
    const { liveDeploymentId: id } = core.require();
    return id === null ? null : (core.deployment(id)?.release ?? null);
  };
  return {
    ...host,
    log: `app:${core.id}`,
    check: (to, isForced) => {
      if (core.open.length > 0) {
        const detail = 'A deployment of this app is running. Move it when that is done.';
        throw new ServiceError('DEPLOY_IN_PROGRESS', detail);
      }
      if (!isForced) checkDatabases(core, to.serverId);
      return Promise.resolve();
    },
    fixed: () => {
      const release = live();
      return release === null ? [] : [release];
    },
    forget: () => {
      const { run } = core.require();
      core.save({ run: { ...run, draining: [] } });
    },
    moved: () => {
      // The others stay behind, and go with its files.
      const here = live();
      const all = core.deps.reader.list(tables.deployments, 'app', [core.id], { limit: Infinity });
      return all
        .filter(({ release }) => release !== null && release !== here)
        .map((deployment) => put(tables.deployments, withoutRelease(deployment)));
    },
  };
}

/** An app reaches databases of its own server alone. */
function checkDatabases({ deps, env }: AppCore, serverId: string): void {
  const ids = new Set(env.flatMap(({ refersTo = [] }) => refersTo));
  for (const id of ids) {
    const database = deps.reader.get(tables.databases, id);
    if (database === undefined || database.serverId === serverId) continue;
    throw new ServiceError(
      'CONFLICT',
      `A variable refers to the database ${database.name} (${id}), which is on another server: move it first.`,
    );
  }
}
