/** Owns deployments in the schema. */
import { appActor } from '../../actors/app/protocol.ts';
import type { Reader } from '../../store/reader-and-journal.ts';
import type { DeploymentRecord, DeploymentTrigger } from '../../store/records/records.ts';
import { tables } from '../../store/records/tables.ts';
import { askActor, findDeployment, requireDeployment } from '../access.ts';
import type { GraphContext } from '../context.ts';
import { boundedCount } from '../page.ts';
import { builder, connectionType } from './builder.ts';
import { LogConnectionType, logPageMax, readLines } from './logs.ts';
import { appByAppId, deploymentById, needs } from './needs.ts';

const DeploymentStatusType = builder.enumType('DeploymentStatus', {
  values: ['queued', 'building', 'starting', 'ready', 'failed', 'canceled', 'superseded'],
});

export const DeploymentType = builder
  .objectRef<Readonly<DeploymentRecord>>('Deployment')
  .implement({
    fields: (t) => ({
      id: t.exposeID('id'),
      appId: t.exposeID('appId'),
      status: t.expose('status', { type: DeploymentStatusType }),
      trigger: t.exposeString('trigger', {
        description: 'dashboard, api, deploy_hook, git_push, mcp or rollback.',
      }),
      url: t.exposeString('url', { nullable: true }),
      commitSha: t.exposeString('commitSha', { nullable: true }),
      commitMessage: t.exposeString('commitMessage', { nullable: true }),
      commitAuthor: t.exposeString('commitAuthor', {
        nullable: true,
        description: 'Name and address, as the commit has them.',
      }),
      branch: t.exposeString('branch', { nullable: true }),
      error: t.exposeString('error', { nullable: true }),
      queuePosition: t.int({
        nullable: true,
        description: 'From 1, while it is queued.',
        resolve: (record, _args, { read }) => queuePosition(read.reader, record),
      }),
      canRollback: t.boolean({
        description: 'Whether its release is kept and another one is live.',
        resolve: (record, _args, { read }) => canRollback(read.reader, record),
      }),
      log: t.field({
        type: LogConnectionType,
        description: 'The log of build and release, from its start.',
        args: { first: t.arg.int({ defaultValue: 1_000 }), after: t.arg.string() },
        resolve: (record, { first, after }, context) => {
          const count = boundedCount('first', first, 1_000, logPageMax);
          return readLines(
            context,
            `build:${record.id}`,
            count,
            after == null ? 'start' : { after },
          );
        },
      }),
      logTail: t.field({
        type: LogConnectionType,
        description: 'The last lines of the log; `log` reads on from its endCursor.',
        args: { lines: t.arg.int({ defaultValue: 100 }) },
        resolve: (record, { lines }, context) => {
          const count = boundedCount('lines', lines, 100, logPageMax);
          return readLines(context, `build:${record.id}`, count, 'end');
        },
      }),
      createdAt: t.expose('createdAtMs', { type: 'DateTime' }),
      startedAt: t.expose('startedAtMs', { type: 'DateTime', nullable: true }),
      finishedAt: t.expose('finishedAtMs', { type: 'DateTime', nullable: true }),
    }),
  });

export const DeploymentConnectionType = connectionType('DeploymentConnection', DeploymentType);

builder.queryField('deployment', (t) =>
  t.field({
    type: DeploymentType,
    nullable: true,
    args: { id: t.arg.id({ required: true }) },
    resolve: (_root, { id }, context) => findDeployment(context, id),
  }),
);

builder.mutationFields((t) => ({
  redeploy: t.field({
    type: DeploymentType,
    ...needs('deploy_apps', appByAppId, {
      description: 'Queues a deployment, or returns the one already queued.',
      resolve: ({ id }, _args, context) =>
        askActor(context, appActor.at(id), { type: 'redeploy', trigger: triggerOf(context) }),
    }),
  }),
  cancelDeployment: t.boolean(
    needs('deploy_apps', deploymentById, {
      description: 'False when it had finished.',
      resolve: ({ id, appId }, _args, context) =>
        askActor(context, appActor.at(appId), { type: 'cancel', deploymentId: id }),
    }),
  ),
  rollbackDeployment: t.field({
    type: DeploymentType,
    ...needs(
      'deploy_apps',
      {
        args: { deploymentId: t.arg.id({ required: true }) },
        find: (context, need, given) => requireDeployment(context, given.deploymentId, need),
      },
      {
        description: 'Runs the kept release of an earlier deployment again.',
        resolve: ({ id, appId }, _args, context) => {
          const message = { type: 'rollback', deploymentId: id, trigger: 'rollback' } as const;
          return askActor(context, appActor.at(appId), message);
        },
      },
    ),
  }),
}));

function triggerOf({ principal, via }: GraphContext): DeploymentTrigger {
  if (via === 'mcp') return 'mcp';
  return principal.kind === 'token' ? 'api' : 'dashboard';
}

/** All apps share the server's build slots, at which teams take turns. */
function queuePosition(reader: Reader, record: Readonly<DeploymentRecord>): number | null {
  if (record.status !== 'queued') return null;
  const queue = reader.list(tables.deployments, 'queueOrder', [], { limit: 10_000 });
  const index = queue.findIndex((other) => other.id === record.id);
  return index < 0 ? null : index + 1;
}

function canRollback(reader: Reader, record: Readonly<DeploymentRecord>): boolean {
  if (record.release === null || record.plan === null || record.finishedAtMs === null) return false;
  if (record.status !== 'ready' && record.status !== 'superseded') return false;
  const app = reader.get(tables.apps, record.appId);
  return app?.deletedAtMs === null && app.liveDeploymentId !== record.id;
}
