/** Owns the trash in the schema: what was deleted and can come back for a while. */
import { appActor } from '../../actors/app/protocol.ts';
import { databaseActor } from '../../actors/database/protocol.ts';
import { authorize, can, type Resource } from '../../auth/rights/authorize.ts';
import { ServiceError } from '../../lib/errors.ts';
import type { Reader } from '../../store/reader-and-journal.ts';
import type { TrashRecord } from '../../store/records/records.ts';
import { tables } from '../../store/records/tables.ts';
import { askActor, requireSignedIn, requireTeam } from '../access.ts';
import type { GraphContext } from '../context.ts';
import { builder } from './builder.ts';

const TrashItemType = builder.objectRef<Readonly<TrashRecord>>('TrashItem').implement({
  fields: (t) => ({
    id: t.exposeID('id'),
    kind: t.exposeString('kind', { description: 'app or database.' }),
    name: t.exposeString('name'),
    deletedAt: t.expose('deletedAtMs', { type: 'DateTime' }),
    purgeAt: t.expose('purgeAtMs', { type: 'DateTime' }),
  }),
});

builder.queryField('trash', (t) =>
  t.field({
    type: [TrashItemType],
    resolve: (_root, _args, context) => {
      const { reader } = context.read;
      const teamId = requireTeam(context, null);
      return reader.list(tables.trash, 'team', [teamId], { limit: 10_000 }).filter((item) => {
        const resource = resourceOf(reader, item);
        return resource !== null && can(reader, context.principal, null, resource);
      });
    },
  }),
);

builder.mutationFields((t) => ({
  restoreFromTrash: t.boolean({
    description: 'The capability that deletes. Takes the id of the item or of what is in it.',
    args: { id: t.arg.id({ required: true }) },
    resolve: (_root, { id }, context) => askOwner(context, id, 'restore'),
  }),
  purgeFromTrash: t.boolean({
    description: 'The capability that deletes. Gone for good.',
    args: { id: t.arg.id({ required: true }) },
    resolve: (_root, { id }, context) => askOwner(context, id, 'purge'),
  }),
}));

function askOwner(context: GraphContext, id: string, type: 'restore' | 'purge'): Promise<boolean> {
  const { kind, targetId } = requireTrashed(context, id);
  if (kind === 'app') return askActor(context, appActor.at(targetId), { type });
  return askActor(context, databaseActor.at(targetId), { type });
}

function requireTrashed(context: GraphContext, id: string): Readonly<TrashRecord> {
  requireSignedIn(context);
  const { reader } = context.read;
  const item = reader.get(tables.trash, id) ?? reader.find(tables.trash, 'target', [id]);
  const resource = item && resourceOf(reader, item);
  if (!resource) throw new ServiceError('NOT_FOUND', 'No such item in trash.');
  const need = item.kind === 'app' ? 'delete_apps' : 'delete_databases';
  authorize(reader, context.principal, need, resource);
  return item;
}

function resourceOf(reader: Reader, { kind, targetId }: Readonly<TrashRecord>): Resource | null {
  if (kind === 'app') {
    const app = reader.get(tables.apps, targetId);
    return app ? { kind, app, trashed: true } : null;
  }
  const database = reader.get(tables.databases, targetId);
  return database ? { kind, database, trashed: true } : null;
}
