/**
 * Owns the subscriptions in the schema, and what each yields, event by event.
 *
 * 1. Rights are looked at before the first event and before each one after it.
 * 2. An iterator yields when it is asked: one nobody reads from holds no queue.
 * 3. It ends when the thing followed ends, when the caller's signal aborts, or with the error that
 *    says which right was lost.
 */
import { ServiceError } from '../../lib/errors.ts';
import type { DeploymentRecord, DeploymentStatus } from '../../store/records/records.ts';
import type { Table } from '../../store/records/table.ts';
import { tables } from '../../store/records/tables.ts';
import { requireApp, requireDatabase, requireDeployment, writeSide } from '../access.ts';
import type { GraphContext } from '../context.ts';
import { AppType } from './apps.ts';
import { builder } from './builder.ts';
import { DatabaseType } from './databases.ts';
import { Bell } from '../live/bell.ts';
import { LineDecoder, LogLineType, type LineText } from './logs.ts';

const takeBytes = 64 * 1024;

builder.subscriptionFields((t) => ({
  appStatus: t.field({
    type: AppType,
    description: 'The app as it is, and again whenever it or a deployment of it changed.',
    args: { id: t.arg.id({ required: true }) },
    subscribe: (_root, { id }, context) => follow(context, id, tables.apps, requireApp),
    resolve: (record) => record,
  }),
  databaseStatus: t.field({
    type: DatabaseType,
    description: 'The database as it is, and again whenever it changed.',
    args: { id: t.arg.id({ required: true }) },
    subscribe: (_root, { id }, context) => follow(context, id, tables.databases, requireDatabase),
    resolve: (record) => record,
  }),
  deploymentLog: t.field({
    type: LogLineType,
    description: 'The log from its start, then live until the deployment is finished.',
    args: { id: t.arg.id({ required: true }) },
    subscribe: (_root, { id }, context) =>
      followBuild(context, requireDeployment(context, id, null)),
    resolve: (line) => line,
  }),
}));

/** The record now, once the caller is known to see it, and again whenever it changed. */
function follow<R extends { deletedAtMs: number | null }>(
  context: GraphContext,
  id: string,
  table: Table<R>,
  require: (context: GraphContext, id: string, need: null) => Readonly<R>,
): AsyncGenerator<Readonly<R>, void> {
  const look = (): Readonly<R> => require(context, id, null);
  look();
  return states(context, id, () => context.read.reader.get(table, id), look);
}

/** What `look` says now, and again whenever it changed, until it is deleted. */
async function* states<R>(
  context: GraphContext,
  id: string,
  stored: () => Readonly<{ deletedAtMs: number | null }> | undefined,
  look: () => R,
): AsyncGenerator<R, void> {
  const bell = new Bell(context.call.signal);
  let changed = true;
  const unwatch = writeSide(context).live.watch(id, (isChange) => {
    changed ||= isChange;
    bell.ring();
  });
  try {
    while (!bell.isSilenced()) {
      // Deleted is an end, not a loss of rights.
      if (stored()?.deletedAtMs !== null) return;
      const seen = stillAllowed(context, look);
      if (changed) {
        changed = false;
        yield seen;
      } else {
        await bell.rung();
      }
    }
  } finally {
    unwatch();
    bell.remove();
  }
}

async function* followBuild(
  context: GraphContext,
  { id, appId }: Readonly<DeploymentRecord>,
): AsyncGenerator<LineText, void> {
  const { live } = writeSide(context);
  const bell = new Bell(context.call.signal);
  let finishedLooks = 0;
  const unwatch = live.watch(appId, () => bell.ring());
  const view = live.streams.attach(`build:${id}`, () => bell.ring());
  const decoder = new LineDecoder();
  let next = context.read.logs.range(`build:${id}`)?.firstOffset ?? 0;
  try {
    while (!bell.isSilenced()) {
      const record = stillAllowed(context, () => requireDeployment(context, id, null));
      const { ended } = view;
      const slice = view.take(next, takeBytes);
      next = slice.nextOffset;
      for (const line of decoder.decode(slice.lines)) {
        if (bell.isSilenced()) return;
        stillAllowed(context, () => requireDeployment(context, id, null));
        yield line;
      }
      if (slice.lines.length > 0) continue;
      if (ended) return;
      // The last lines may come a moment behind the last status: only the second look, half a
      // second later at most, takes their absence for the end.
      if (isFinished(record.status) && ++finishedLooks > 1) return;
      await bell.rung();
    }
  } finally {
    view.detach();
    unwatch();
    bell.remove();
  }
}

function isFinished(status: DeploymentStatus): boolean {
  return !['queued', 'building', 'starting'].includes(status);
}

function stillAllowed<T>(context: GraphContext, look: () => T): T {
  if (!writeSide(context).live.stillValid(context.principal)) {
    throw new ServiceError('UNAUTHENTICATED', 'The session or token ended.');
  }
  return look();
}
