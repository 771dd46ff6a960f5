/** Owns the `backups` actor: one table of handlers, from the files beside this one. */
import type { ActorDefinition } from '../runtime/actor.ts';
import { Backups } from './backups.ts';
import type { BackupDeps } from './deps.ts';
import { backupsActor, type BackupsProtocol } from './protocol.ts';
import { Runs } from './runs.ts';
import { scheduleHandlers } from './schedules.ts';

export function backupsDefinition(deps: BackupDeps): ActorDefinition<BackupsProtocol> {
  return {
    kind: backupsActor,
    activate: (context) => {
      const backups = new Backups(context, deps);
      const runs = new Runs(backups);
      void context.report(() => runs.resume());
      return { ...runs.handlers, ...scheduleHandlers(backups, runs) };
    },
  };
}
