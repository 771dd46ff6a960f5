/** Owns the `database` actor: one table of handlers, from the files beside this one. */
import { Moves } from '../move/moves.ts';
import { Restores } from '../restore/restores.ts';
import type { Actor, ActorContext, ActorDefinition } from '../runtime/actor.ts';
import type { DepsAt } from '../workload/core.ts';
import { DatabaseCore } from './core.ts';
import type { DatabaseDeps } from './deps.ts';
import { Lifecycle } from './lifecycle.ts';
import { moveHost } from './move-host.ts';
import { databaseActor, type DatabaseProtocol } from './protocol.ts';
import { passwordHandlers } from './settings/passwords.ts';
import { LiveServer } from './running/live-server.ts';

export function databaseDefinition(
  depsAt: DepsAt<DatabaseDeps>,
): ActorDefinition<DatabaseProtocol> {
  return { kind: databaseActor, activate: (context) => activate(context, depsAt) };
}

function activate(
  context: ActorContext<DatabaseProtocol>,
  depsAt: DepsAt<DatabaseDeps>,
): Actor<DatabaseProtocol> {
  const core = new DatabaseCore(context, depsAt);
  const lifecycle = new Lifecycle(core);
  const liveServer = new LiveServer(core, () => lifecycle.ensureRunning());
  const restores = new Restores(core, lifecycle.restoreHost);
  const moves = new Moves(core, moveHost(core, lifecycle.restoreHost));
  if (core.record !== null) {
    restores.resume();
    moves.resume();
    void context.report(() => lifecycle.resume());
  }
  return {
    ...lifecycle.handlers,
    ...restores.handlers,
    ...moves.handlers,
    ...passwordHandlers(core),
    ...liveServer.handlers,
  };
}
