/** Owns what a move needs of a database: its files, and its engine at the server that it is moved to. */
import { ServiceError } from '../../lib/errors.ts';
import type { Place } from '../../places/place.ts';
import type { MoveHost } from '../move/moves.ts';
import type { RestoreHost } from '../restore/restore-work.ts';
import type { DatabaseCore } from './core.ts';
import { requireHost } from './engines/engine.ts';
import { appsReferringTo } from './settings/references.ts';

export function moveHost(core: DatabaseCore, host: RestoreHost): MoveHost {
  return {
    ...host,
    log: `db:${core.id}`,
    check: async (to, isForced) => {
      if (!isForced) checkApps(core, to.serverId);
      await checkEngine(core, to);
    },
    fixed: () => [],
    forget: () => {
      const { run } = core.require();
      core.save({ run: { ...run, ending: [] } });
    },
    moved: () => [],
  };
}

/** An app reaches databases of its own server alone. */
function checkApps(core: DatabaseCore, serverId: string): void {
  const apps = appsReferringTo(core.deps.reader, core.require());
  const running = apps.find((app) => app.serverId !== serverId && app.desired === 'running');
  if (running === undefined) return;
  throw new ServiceError(
    'CONFLICT',
    `The app ${running.name} (${running.id}) refers to it, and would not reach it there: stop the app, move both, and start it.`,
  );
}

/** Its files are those of one version: ENGINE_NOT_AVAILABLE where that is missing; CONFLICT where they cannot go. */
async function checkEngine(core: DatabaseCore, to: Place): Promise<void> {
  const { engine, version } = core.require();
  if (engine === 'CLICKHOUSE') {
    // Its files lead to each other by whole paths, which are others there.
    throw new ServiceError(
      'CONFLICT',
      'A ClickHouse cannot be moved yet: dump it, and read it back there.',
    );
  }
  const { tools } = await to.machine();
  await requireHost(core.engine).again(version, tools);
}
