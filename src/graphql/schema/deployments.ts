/** Owns deployments in the schema. */
import { appActor } from '../../actors/app/protocol.ts';
import type { Reader } from '../../store/reader-and-journal.ts';
import type { DeploymentRecord, DeploymentTrigger } from '../../store/records/records.ts';
import { tables } from '../../store/records/tables.ts';
import { findDeployment, requireApp, requireDeployment, writeSide } from '../access.ts';
import type { GraphContext } from '../context.ts';
import { boundedCount, type Page } from '../page.ts';
import type { Builder, Shared } from './builder.ts';
import { ofRecord } from '../record-fields.ts';
import { type addLogs, logPageMax, readLines } from './logs.ts';

export function addDeployments(
  builder: Builder,
  { pageInfo }: Shared,
  { logConnection }: ReturnType<typeof addLogs>,
) {
  const deployment = addDeployment(builder, logConnection);
  const connection = builder
    .objectRef<Page<Readonly<DeploymentRecord>>>('DeploymentConnection')
    .implement({
      fields: (t) => ({
        nodes: t.field({ type: [deployment], resolve: (page) => page.nodes }),
        pageInfo: t.expose('pageInfo', { type: pageInfo }),
      }),
    });
  builder.queryFields((t) => ({
    deployment: t.field({
      type: deployment,
      nullable: true,
      args: { id: t.arg.id({ required: true }) },
      resolve: (_root, { id }, context) => findDeployment(context, id),
    }),
  }));
  addChanges(builder, deployment);
  return { deployment, connection };
}

type DeploymentRef = ReturnType<typeof addDeployment>;

function addDeployment(
  builder: Builder,
  logConnection: ReturnType<typeof addLogs>['logConnection'],
) {
  const status = builder.enumType('DeploymentStatus', {
    values: ['queued', 'building', 'starting', 'ready', 'failed', 'canceled', 'superseded'],
  });
  return builder.objectRef<Readonly<DeploymentRecord>>('Deployment').implement({
    fields: (t) => ({
      id: t.exposeID('id'),
      appId: t.exposeID('appId'),
      status: t.expose('status', { type: status }),
      trigger: t.exposeString('trigger', {
        description: 'dashboard, api, deploy_hook, git_push, mcp or rollback.',
      }),
      url: t.exposeString('url', { nullable: true }),
      commitSha: t.exposeString('commitSha', { nullable: true }),
      commitMessage: t.exposeString('commitMessage', { nullable: true }),
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
        type: logConnection,
        description: 'The log of build and release, from its start.',
        args: { first: t.arg.int({ defaultValue: 1_000 }), after: t.arg.string() },
        resolve: (record, { first, after }, context) => {
          const count = boundedCount('first', first, 1_000, logPageMax);
          return readLines(context, `build:${record.id}`, count, after ?? null, 'start');
        },
      }),
      logTail: t.field({
        type: logConnection,
        description: 'The last lines of the log; `log` reads on from its endCursor.',
        args: { lines: t.arg.int({ defaultValue: 100 }) },
        resolve: (record, { lines }, context) => {
          const count = boundedCount('lines', lines, 100, logPageMax);
          return readLines(context, `build:${record.id}`, count, null, 'end');
        },
      }),
      createdAt: t.field({
        ...ofRecord((record: DeploymentRecord) => record.createdAtMs),
        type: 'DateTime',
      }),
      startedAt: t.field({
        ...ofRecord((record: DeploymentRecord) => record.startedAtMs),
        type: 'DateTime',
        nullable: true,
      }),
      finishedAt: t.field({
        ...ofRecord((record: DeploymentRecord) => record.finishedAtMs),
        type: 'DateTime',
        nullable: true,
      }),
    }),
  });
}

function addChanges(builder: Builder, deployment: DeploymentRef): void {
  builder.mutationFields((t) => ({
    redeploy: t.field({
      type: deployment,
      description: 'deploy_apps. Queues a deployment, or returns the one already queued.',
      args: { appId: t.arg.id({ required: true }) },
      resolve: (_root, { appId }, context) => {
        const app = requireApp(context, appId, 'deploy_apps');
        return writeSide(context).actors.ask(appActor.at(app.id), {
          type: 'redeploy',
          trigger: triggerOf(context),
        });
      },
    }),
    cancelDeployment: t.boolean({
      description: 'deploy_apps. False when it had finished.',
      args: { id: t.arg.id({ required: true }) },
      resolve: (_root, { id }, context) => {
        const record = requireDeployment(context, id, 'deploy_apps');
        return writeSide(context).actors.ask(appActor.at(record.appId), {
          type: 'cancel',
          deploymentId: record.id,
        });
      },
    }),
    rollbackDeployment: t.field({
      type: deployment,
      description: 'deploy_apps. Runs the kept release of an earlier deployment again.',
      args: { deploymentId: t.arg.id({ required: true }) },
      resolve: (_root, { deploymentId }, context) => {
        const record = requireDeployment(context, deploymentId, 'deploy_apps');
        return writeSide(context).actors.ask(appActor.at(record.appId), {
          type: 'rollback',
          deploymentId: record.id,
          trigger: 'rollback',
        });
      },
    }),
  }));
}

function triggerOf({ principal, via }: GraphContext): DeploymentTrigger {
  if (via === 'mcp') return 'mcp';
  return principal.kind === 'token' ? 'api' : 'dashboard';
}

/** All apps share the server's build slots; the queue is in the order of asking. */
function queuePosition(reader: Reader, record: Readonly<DeploymentRecord>): number | null {
  if (record.status !== 'queued') return null;
  const queue = reader.list(tables.deployments, 'queued', [], { limit: 10_000 });
  const index = queue.findIndex((other) => other.id === record.id);
  return index < 0 ? null : index + 1;
}

function canRollback(reader: Reader, record: Readonly<DeploymentRecord>): boolean {
  if (record.release === null || record.plan === null || record.finishedAtMs === null) return false;
  if (record.status !== 'ready' && record.status !== 'superseded') return false;
  const app = reader.get(tables.apps, record.appId);
  return app?.deletedAtMs === null && app.liveDeploymentId !== record.id;
}
