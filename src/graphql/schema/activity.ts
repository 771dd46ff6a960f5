/** Owns what was done in a team, and by whom, in the schema. It is only ever read here. */
import type { ActivityRecord } from '../../store/records/records.ts';
import { tables } from '../../store/records/tables.ts';
import { boundedCount, decodeCursor, pageMax, pageOf } from '../page.ts';
import { builder, connectionType } from './builder.ts';
import { actingTeam, needs } from './needs.ts';

const firstDefault = 50;

const ActivityEntryType = builder.objectRef<Readonly<ActivityRecord>>('ActivityEntry').implement({
  fields: (t) => ({
    id: t.exposeID('id'),
    at: t.expose('atMs', { type: 'DateTime' }),
    actor: t.exposeString('actor', {
      description:
        '`person:<name> <email>`, `token:<name> <prefix> of <email>`, ' +
        '`client:<name> of <email>` or `nobody`, as it was then.',
    }),
    action: t.exposeString('action', {
      description: 'The name of the mutation, or what came by another way, such as `deploy_hook`.',
    }),
    target: t.exposeString('target', {
      nullable: true,
      description: '`<kind>:<id> <name>`, as it was then.',
    }),
    details: t.expose('details', {
      type: 'JSON',
      nullable: true,
      description: 'Ids, address, user agent, and harmless arguments.',
    }),
  }),
});

builder.queryField('activity', (t) =>
  t.field({
    type: connectionType('ActivityConnection', ActivityEntryType),
    ...needs('view_activity', actingTeam, {
      description: 'Of the acting team, the newest first.',
      args: { first: t.arg.int({ defaultValue: firstDefault }), after: t.arg.string() },
      resolve: (teamId, { first, after }, { read }) => {
        const count = boundedCount('first', first, firstDefault, pageMax);
        const rows = read.reader.list(tables.activity, 'team', [teamId], {
          reverse: true,
          limit: count + 1,
          ...(after != null && { after: [teamId, decodeCursor('act', after)] }),
        });
        return pageOf('act', rows, count, ({ id }) => id);
      },
    }),
  }),
);
