/** Owns restores in the schema: of stored backups, and how each of them goes. */
import { appActor } from '../../actors/app/protocol.ts';
import { databaseActor } from '../../actors/database/protocol.ts';
import type { RestoreProtocol } from '../../actors/restore/protocol.ts';
import type { ActorRef } from '../../actors/runtime/actor.ts';
import { ofInstance } from '../../backups/restores/artifact-kind.ts';
import { can } from '../../auth/rights/authorize.ts';
import { resourceOfBackup } from '../../auth/rights/backup-resource.ts';
import type { BackupRunRecord, RestoreRunRecord } from '../../store/records/records.ts';
import { askActor, findRestoreRun, requireBackupRun } from '../access.ts';
import { appIdOf, databaseIdOf } from './backups.ts';
import { builder } from './builder.ts';
import { needs } from './needs.ts';

const StatusType = builder.enumType('RestoreRunStatus', {
  values: ['running', 'success', 'failed'] as const,
});

export const RestoreRunType = builder
  .objectRef<Readonly<RestoreRunRecord>>('RestoreRun')
  .implement({
    fields: (t) => ({
      id: t.exposeID('id'),
      appId: t.id({ nullable: true, resolve: appIdOf }),
      databaseId: t.id({ nullable: true, resolve: databaseIdOf }),
      backupRunId: t.id({
        nullable: true,
        description: 'Null where the artifact was uploaded.',
        resolve: ({ backupRunId }) => backupRunId,
      }),
      status: t.expose('status', { type: StatusType }),
      log: t.exposeStringList('log', { description: 'Its last lines.' }),
      error: t.exposeString('error', {
        nullable: true,
        description:
          'A sentence, and its code in parentheses. The log tells whose data is in place.',
      }),
      startedAt: t.expose('startedAtMs', { type: 'DateTime' }),
      finishedAt: t.expose('finishedAtMs', { type: 'DateTime', nullable: true }),
    }),
  });

builder.queryFields((t) => ({
  restoreRun: t.field({
    type: RestoreRunType,
    nullable: true,
    description: 'Null where the caller sees none.',
    args: { id: t.arg.id({ required: true }) },
    resolve: (_root, { id }, context) => findRestoreRun(context, id),
  }),
}));

builder.mutationFields((t) => ({
  restoreBackup: t.field({
    type: RestoreRunType,
    ...needs(
      'restore_backups',
      {
        args: { runId: t.arg.id({ required: true }) },
        find: (context, need, { runId }) => requireBackupRun(context, runId, need),
      },
      {
        description:
          'Overwrites the live target. Answers at once. RESTORE_RUNNING while one is under way.',
        resolve: (backup, _args, context) => {
          if (backup.kind === 'instance') throw ofInstance();
          const { reader } = context.read;
          const resource = resourceOfBackup(reader, backup);
          const may = (need: 'configure_apps' | 'manage_env' | 'deploy_apps'): boolean =>
            can(reader, context.principal, need, resource);
          const rights = {
            configure: may('configure_apps'),
            env: may('manage_env'),
            upload: may('deploy_apps'),
          };
          const message = { type: 'restore-run', backupRunId: backup.id, rights } as const;
          return askActor(context, restoresOf(backup), message);
        },
      },
    ),
  }),
}));

function restoresOf({ kind, targetId }: Readonly<BackupRunRecord>): ActorRef<RestoreProtocol> {
  return kind === 'app' ? appActor.at(targetId) : databaseActor.at(targetId);
}
