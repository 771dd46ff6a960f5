/** Owns OAuth grants in the schema: what a person let clients do. */
import { ServiceError } from '../../lib/errors.ts';
import type { TokenRecord } from '../../store/records/records.ts';
import { tables } from '../../store/records/tables.ts';
import { requirePerson, writeSide } from '../access.ts';
import type { Builder, Shared } from './builder.ts';

export function addGrants(builder: Builder, { capability }: Shared): void {
  const grant = builder.objectRef<Readonly<TokenRecord>>('OAuthGrant').implement({
    fields: (t) => ({
      id: t.exposeID('id'),
      clientName: t.exposeString('name'),
      clientHost: t.string({ nullable: true, resolve: ({ oauth }) => oauth?.host ?? null }),
      capabilities: t.expose('capabilities', { type: [capability] }),
      teamId: t.exposeID('homeTeamId'),
      createdAt: t.field({ type: 'DateTime', resolve: ({ createdAtMs }) => createdAtMs }),
      lastUsedAt: t.field({
        type: 'DateTime',
        nullable: true,
        resolve: ({ lastUsedAtMs }) => lastUsedAtMs,
      }),
    }),
  });
  builder.queryFields((t) => ({
    myGrants: t.field({
      type: [grant],
      description: "Cookie only. One's own OAuth grants, in all teams.",
      resolve: (_root, _args, context) => {
        const { userId } = requirePerson(context);
        const now = Date.now();
        return context.read.reader
          .list(tables.tokens, 'user', [userId])
          .filter(({ oauth, expiresAtMs }) => oauth && (expiresAtMs ?? Infinity) > now);
      },
    }),
  }));
  builder.mutationFields((t) => ({
    revokeGrant: t.boolean({
      description: "One's own OAuth grant: what the client has open ends with it.",
      args: { id: t.arg.id({ required: true }) },
      resolve: async (_root, { id }, context) => {
        const principal = requirePerson(context);
        const found = context.read.reader.get(tables.tokens, id);
        if (!found?.oauth || found.userId !== principal.userId) {
          throw new ServiceError('NOT_FOUND', 'No such grant.');
        }
        return (await writeSide(context).accounts()).revokeToken(principal, id);
      },
    }),
  }));
}
