/** Owns backups in the schema: their runs and their schedules. */
import { backupsActor, instanceTarget } from '../../actors/backup/protocol.ts';
import { ServiceError } from '../../lib/errors.ts';
import type {
  BackupRunRecord,
  BackupScheduleRecord,
  BackupTarget,
} from '../../store/records/records.ts';
import { tables } from '../../store/records/tables.ts';
import {
  askActor,
  findBackupRun,
  requireAdmin,
  requireBackupRun,
  requireDestination,
  requireTeam,
  seesBackup,
} from '../access.ts';
import type { GraphContext } from '../context.ts';
import { boundedCount, decodeCursor, encodeCursor, type Page, pageMax, pageOf } from '../page.ts';
import { builder, connectionType } from './builder.ts';
import { appOrDatabase, backedUp, backupRunById, backupScheduleById, needs } from './needs.ts';

const firstDefault = 50;
/** So many runs are looked at for a page of a caller who sees few of them. */
const lookedAtMax = 10_000;

const StatusType = builder.enumType('BackupRunStatus', {
  values: ['running', 'verifying', 'success', 'failed', 'canceled'] as const,
});

export const appIdOf = ({ kind, targetId }: BackupTarget): string | null =>
  kind === 'app' ? targetId : null;
export const databaseIdOf = ({ kind, targetId }: BackupTarget): string | null =>
  kind === 'database' ? targetId : null;
const isOfInstance = ({ kind }: BackupTarget): boolean => kind === 'instance';

export const BackupRunType = builder.objectRef<Readonly<BackupRunRecord>>('BackupRun').implement({
  fields: (t) => ({
    id: t.exposeID('id'),
    appId: t.id({ nullable: true, resolve: appIdOf }),
    databaseId: t.id({ nullable: true, resolve: databaseIdOf }),
    instance: t.boolean({ description: 'Of the instance itself.', resolve: isOfInstance }),
    destinationId: t.exposeID('destinationId'),
    status: t.expose('status', { type: StatusType }),
    sizeBytes: t.exposeFloat('sizeBytes', {
      nullable: true,
      description: 'Of the artifact, once it is written.',
    }),
    progressBytes: t.exposeFloat('progressBytes', {
      nullable: true,
      description:
        'Of the artifact: written so far, or, while it is verified, read back. Null while it waits for its turn.',
    }),
    sha256: t.exposeString('sha256', { nullable: true, description: 'Of the artifact.' }),
    encrypted: t.exposeBoolean('encrypted'),
    verifiedAt: t.expose('verifiedAtMs', {
      type: 'DateTime',
      nullable: true,
      description: 'When the finished artifact was read back and checked.',
    }),
    error: t.exposeString('error', {
      nullable: true,
      description: 'A sentence, and its code in parentheses.',
    }),
    startedAt: t.expose('startedAtMs', { type: 'DateTime' }),
    finishedAt: t.expose('finishedAtMs', { type: 'DateTime', nullable: true }),
  }),
});

const BackupScheduleType = builder
  .objectRef<Readonly<BackupScheduleRecord>>('BackupSchedule')
  .implement({
    fields: (t) => ({
      id: t.exposeID('id'),
      appId: t.id({ nullable: true, resolve: appIdOf }),
      databaseId: t.id({ nullable: true, resolve: databaseIdOf }),
      instance: t.boolean({ resolve: isOfInstance }),
      destinationId: t.exposeID('destinationId'),
      cron: t.exposeString('cron'),
      timezone: t.exposeString('timezone'),
      keep: t.exposeInt('keep'),
      enabled: t.exposeBoolean('enabled'),
      nextRunAt: t.expose('nextRunAtMs', {
        type: 'DateTime',
        nullable: true,
        description: 'By its cron; the run begins a little later. Null while it is not enabled.',
      }),
    }),
  });

const CreateScheduleInput = builder.inputType('CreateBackupScheduleInput', {
  fields: (t) => ({
    appId: t.id(),
    databaseId: t.id(),
    instance: t.boolean({
      defaultValue: false,
      description: 'The instance itself; for the instance administrator.',
    }),
    destinationId: t.id({ required: true }),
    cron: t.string({
      required: true,
      description: 'Five fields, or a name such as `@daily`.',
    }),
    timezone: t.string({ defaultValue: 'UTC', description: 'Such as `Europe/Berlin`.' }),
    keep: t.int({
      required: true,
      defaultValue: 7,
      description: 'So many successful runs stay; older ones are removed after a new success.',
    }),
  }),
});

builder.queryFields((t) => ({
  backupRuns: t.field({
    type: connectionType('BackupRunConnection', BackupRunType),
    description:
      'Of one app or database, or of all in the acting team that the caller sees, and for the instance administrator of the instance; the newest first.',
    args: {
      appId: t.arg.id(),
      databaseId: t.arg.id(),
      first: t.arg.int({ defaultValue: firstDefault }),
      after: t.arg.string(),
    },
    resolve: (_root, { appId, databaseId, first, after }, context) => {
      const count = boundedCount('first', first, firstDefault, pageMax);
      const teamId = requireTeam(context, null);
      const behind = after == null ? null : decodeCursor('run', after);
      if (appId != null && databaseId != null) {
        throw new ServiceError('BAD_USER_INPUT', 'Name appId or databaseId, or neither.');
      }
      const targetId = appId ?? databaseId ?? null;
      return runsOf(context, { teamId, targetId }, count, behind);
    },
  }),
  backupRun: t.field({
    type: BackupRunType,
    nullable: true,
    description: 'Null where the caller sees none.',
    args: { id: t.arg.id({ required: true }) },
    resolve: (_root, { id }, context) => findBackupRun(context, id),
  }),
  backupSchedules: t.field({
    type: [BackupScheduleType],
    description:
      'Of the apps and databases of the acting team that the caller sees, and for the instance administrator of the instance; the oldest first.',
    resolve: (_root, _args, context) => {
      const teamId = requireTeam(context, null);
      const all = context.read.reader.list(tables.backupSchedules, 'team', [teamId], {
        limit: Infinity,
      });
      return all.filter(sightOf(context));
    },
  }),
}));

builder.mutationFields((t) => ({
  runBackup: t.field({
    type: BackupRunType,
    ...needs('manage_backups', appOrDatabase, {
      description: 'Answers at once, with status running. BACKUP_RUNNING while one is under way.',
      args: { destinationId: t.arg.id({ required: true }) },
      resolve: ({ app, database }, { destinationId }, context) => {
        const target = backupsActor.at((app ?? database).id);
        return askActor(context, target, { type: 'run', destinationId });
      },
    }),
  }),
  runInstanceBackup: t.field({
    type: BackupRunType,
    description:
      'The instance administrator. Backs the instance itself up, as runBackup does an app: ENCRYPTION_REQUIRED.',
    args: { destinationId: t.arg.id({ required: true }) },
    resolve: (_root, { destinationId }, context) => {
      requireAdmin(context);
      mayKeep(context, instanceTarget, destinationId);
      return askActor(context, backupsActor.at(instanceTarget), { type: 'run', destinationId });
    },
  }),
  cancelBackupRun: t.boolean(
    needs('manage_backups', backupRunById, {
      description: 'False when it had ended. It is canceled once nothing of it is left.',
      resolve: ({ id, targetId }, _args, context) =>
        askActor(context, backupsActor.at(targetId), { type: 'cancel', runId: id }),
    }),
  ),
  deleteBackupRun: t.boolean(
    needs(
      'manage_backups',
      {
        args: { runId: t.arg.id({ required: true }) },
        find: (context, need, { runId }) => requireBackupRun(context, runId, need),
      },
      {
        description: 'Removes the artifact, too. RUN_NOT_FINISHED while it is under way.',
        resolve: ({ id, targetId }, _args, context) =>
          askActor(context, backupsActor.at(targetId), { type: 'run-delete', runId: id }),
      },
    ),
  ),
}));

builder.mutationFields((t) => ({
  createBackupSchedule: t.field({
    type: BackupScheduleType,
    ...needs(
      'manage_backups',
      {
        args: { input: t.arg({ type: CreateScheduleInput, required: true }) },
        find: (context, need, { input }) => backedUp(context, need, input),
      },
      {
        resolve: (targetId, { input }, context) => {
          const { destinationId, cron, timezone, keep } = input;
          mayKeep(context, targetId, destinationId);
          const schedule = { destinationId, cron, timezone: timezone ?? 'UTC', keep };
          const to = backupsActor.at(targetId);
          return askActor(context, to, { type: 'schedule-create', schedule });
        },
      },
    ),
  }),
  updateBackupSchedule: t.field({
    type: BackupScheduleType,
    ...needs('manage_backups', backupScheduleById, {
      args: {
        cron: t.arg.string(),
        timezone: t.arg.string(),
        keep: t.arg.int(),
        enabled: t.arg.boolean(),
      },
      resolve: ({ id, targetId }, given, context) => {
        const { cron = null, timezone = null, keep = null, enabled = null } = given;
        const change = { cron, timezone, keep, enabled };
        const message = { type: 'schedule-update', scheduleId: id, change } as const;
        return askActor(context, backupsActor.at(targetId), message);
      },
    }),
  }),
  deleteBackupSchedule: t.boolean(
    needs('manage_backups', backupScheduleById, {
      description: 'Its runs stay, until somebody deletes them.',
      resolve: ({ id, targetId }, _args, context) =>
        askActor(context, backupsActor.at(targetId), { type: 'schedule-delete', scheduleId: id }),
    }),
  ),
}));

/** The instance has no team of its own: its backups go to a destination of the acting one. */
function mayKeep(context: GraphContext, targetId: string, destinationId: string): void {
  if (targetId === instanceTarget) requireDestination(context, destinationId, 'manage_backups');
}

/** Whether the caller sees the backups of a target: each is judged once. */
function sightOf(context: GraphContext): (of: Parameters<typeof seesBackup>[1]) => boolean {
  const known = new Map<string, boolean>();
  return (of) => {
    const seen = known.get(of.targetId) ?? seesBackup(context, of);
    known.set(of.targetId, seen);
    return seen;
  };
}

function runsOf(
  context: GraphContext,
  { teamId, targetId }: { teamId: string; targetId: string | null },
  count: number,
  behind: string | null,
): Page<Readonly<BackupRunRecord>> {
  const { reader } = context.read;
  const [index, prefix] =
    targetId === null ? (['team', teamId] as const) : (['target', targetId] as const);
  const sees = sightOf(context);
  const found: Readonly<BackupRunRecord>[] = [];
  let after = behind;
  for (let lookedAt = 0; lookedAt < lookedAtMax; lookedAt += pageMax) {
    const some = reader.list(tables.backupRuns, index, [prefix], {
      reverse: true,
      limit: pageMax,
      ...(after !== null && { after: [prefix, after] }),
    });
    found.push(...some.filter((run) => run.teamId === teamId && sees(run)));
    after = some.at(-1)?.id ?? null;
    const isAll = some.length < pageMax;
    if (found.length > count || isAll) return pageOf('run', found.slice(0, count + 1), count, idOf);
  }
  const endCursor = after === null ? null : encodeCursor('run', after);
  return { nodes: found, pageInfo: { endCursor, hasNextPage: true } };
}

function idOf({ id }: { id: string }): string {
  return id;
}
