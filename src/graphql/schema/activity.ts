/** Owns what was done in a team, and by whom, in the schema. It is only ever read here. */
import type { ActivityRecord } from '../../store/records/records.ts';
import { tables } from '../../store/records/tables.ts';
import { requireTeam } from '../access.ts';
import { boundedCount, decodeCursor, type Page, pageMax, pageOf } from '../page.ts';
import type { Builder, Shared } from './builder.ts';

type Entry = Readonly<ActivityRecord>;

const firstDefault = 50;

export function addActivity(builder: Builder, { pageInfo }: Shared): void {
  const entry = builder.objectRef<Entry>('ActivityEntry').implement({
    fields: (t) => ({
      id: t.exposeID('id'),
      at: t.field({ type: 'DateTime', resolve: (record) => record.atMs }),
      actor: t.exposeString('actor', {
        description:
          '`person:<name> <email>`, `token:<name> <prefix> of <email>`, ' +
          '`client:<name> of <email>` or `nobody`, as it was then.',
      }),
      action: t.exposeString('action', {
        description:
          'The name of the mutation, or what came by another way, such as `deploy_hook`.',
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
  const connection = builder.objectRef<Page<Entry>>('ActivityConnection').implement({
    fields: (t) => ({
      nodes: t.field({ type: [entry], resolve: (page) => [...page.nodes] }),
      pageInfo: t.field({ type: pageInfo, resolve: (page) => page.pageInfo }),
    }),
  });
  builder.queryFields((t) => ({
    activity: t.field({
      type: connection,
      description: 'view_activity. Of the acting team, the newest first.',
      args: { first: t.arg.int({ defaultValue: firstDefault }), after: t.arg.string() },
      resolve: (_root, { first, after }, context) => {
        const teamId = requireTeam(context, 'view_activity');
        const count = boundedCount('first', first, firstDefault, pageMax);
        const behind = after == null ? null : [teamId, decodeCursor('act', after)];
        const rows = context.read.reader.list(tables.activity, 'team', [teamId], {
          reverse: true,
          limit: count + 1,
          ...(behind && { after: behind }),
        });
        return pageOf('act', rows, count, ({ id }) => id);
      },
    }),
  }));
}
