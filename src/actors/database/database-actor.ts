/** Owns the `database` actor: one handler table out of the concerns beside it. */
import { tables } from '../../store/records/tables.ts';
import type { Actor, ActorContext, ActorDefinition } from '../runtime/actor.ts';
import { FreeUids } from '../workload/free-uids.ts';
import { DatabaseCore } from './core.ts';
import type { DatabaseDeps, DatabaseParts } from './deps.ts';
import { type DatabaseMessages, databaseActorInside } from './internal.ts';
import { Lifecycle } from './lifecycle.ts';
import { passwordHandlers } from './settings/passwords.ts';
import { LiveServer } from './running/live-server.ts';

export function databaseDefinition(deps: DatabaseDeps): ActorDefinition<DatabaseMessages> {
  const { reader, options } = deps;
  const uids = new FreeUids({ reader, table: tables.databases, range: options.uids });
  const parts = { ...deps, uids };
  return { kind: databaseActorInside, activate: (context) => activate(context, parts) };
}

function activate(
  context: ActorContext<DatabaseMessages>,
  deps: DatabaseParts,
): Actor<DatabaseMessages> {
  const core = new DatabaseCore(context, deps);
  const lifecycle = new Lifecycle(core);
  const liveServer = new LiveServer(core, () => lifecycle.ensureRunning());
  if (core.record !== null) {
    void context.report(() => lifecycle.resume());
  }
  return {
    handlers: {
      ...lifecycle.handlers,
      ...passwordHandlers(core),
      ...liveServer.handlers,
    },
  };
}
