/** Owns API tokens in the schema. */
import { isScopeGone } from '../../auth/rights/scope.ts';
import { ServiceError } from '../../lib/errors.ts';
import type { TokenRecord } from '../../store/records/records.ts';
import { tables } from '../../store/records/tables.ts';
import { requireSignedIn, requireTeam, writeSide } from '../access.ts';
import { type Builder, secret, type Shared } from './builder.ts';

export function addTokens(builder: Builder, shared: Shared): void {
  const types = addTypes(builder, shared);
  const { apiToken } = types;
  builder.queryFields((t) => ({
    apiTokens: t.field({
      type: [apiToken],
      description: 'manage_tokens. The tokens made in the acting team.',
      resolve: (_root, _args, context) =>
        context.read.reader.list(tables.tokens, 'team', [requireTeam(context, 'manage_tokens')]),
    }),
  }));
  addChanges(builder, types);
}

function addTypes(builder: Builder, { capability }: Shared) {
  const apiToken = builder.objectRef<Readonly<TokenRecord>>('ApiToken').implement({
    fields: (t) => ({
      id: t.exposeID('id'),
      name: t.exposeString('name'),
      prefix: t.exposeString('prefix'),
      capabilities: t.expose('capabilities', { type: [capability] }),
      allTeams: t.exposeBoolean('allTeams'),
      teamIds: t.exposeIDList('teamIds'),
      folderIds: t.exposeIDList('folderIds'),
      appIds: t.exposeIDList('appIds'),
      databaseIds: t.exposeIDList('databaseIds'),
      scopeGone: t.boolean({
        description: 'Whether all that it was made for is deleted: it reaches nothing.',
        resolve: (token, _args, { read }) => isScopeGone(read.reader, token),
      }),
      createdAt: t.field({ type: 'DateTime', resolve: (token) => token.createdAtMs }),
      lastUsedAt: t.field({
        type: 'DateTime',
        nullable: true,
        resolve: (token) => token.lastUsedAtMs,
      }),
      expiresAt: t.field({
        type: 'DateTime',
        nullable: true,
        resolve: (token) => token.expiresAtMs,
      }),
    }),
  });
  const payload = builder
    .objectRef<{ token: TokenRecord; secret: string }>('CreateTokenPayload')
    .implement({
      fields: (t) => ({
        token: t.expose('token', { type: apiToken }),
        secret: t.exposeString('secret', { description: 'Shown this once.', ...secret }),
      }),
    });
  const input = builder.inputType('CreateTokenInput', {
    fields: (t) => ({
      name: t.string({ required: true }),
      capabilities: t.field({ type: [capability], required: true, defaultValue: [] }),
      teamIds: t.idList(),
      folderIds: t.idList(),
      appIds: t.idList(),
      databaseIds: t.idList(),
      expiresAt: t.field({ type: 'DateTime' }),
    }),
  });
  return { apiToken, payload, input };
}

type TokenTypes = ReturnType<typeof addTypes>;

function addChanges(builder: Builder, { payload, input }: TokenTypes): void {
  builder.mutationFields((t) => ({
    createToken: t.field({
      type: payload,
      description: 'manage_tokens.',
      args: { input: t.arg({ type: input, required: true }) },
      resolve: async (_root, args, context) => {
        requireTeam(context, 'manage_tokens');
        const accounts = await writeSide(context).accounts();
        return accounts.createToken(requireSignedIn(context), {
          name: args.input.name,
          capabilities: args.input.capabilities,
          teamIds: args.input.teamIds ?? [],
          folderIds: args.input.folderIds ?? [],
          appIds: args.input.appIds ?? [],
          databaseIds: args.input.databaseIds ?? [],
          expiresAtMs: args.input.expiresAt ?? null,
        });
      },
    }),
    revokeToken: t.boolean({
      description: 'manage_tokens; a person needs nothing to revoke a token of their own.',
      args: { id: t.arg.id({ required: true }) },
      resolve: async (_root, { id }, context) => {
        const principal = requireSignedIn(context);
        const token = context.read.reader.get(tables.tokens, id);
        const own = principal.kind === 'person' && token?.userId === principal.userId;
        if (!own && requireTeam(context, 'manage_tokens') !== token?.homeTeamId) {
          // Tokens of other teams do not exist here.
          throw new ServiceError('NOT_FOUND', 'No such token.');
        }
        const accounts = await writeSide(context).accounts();
        return accounts.revokeToken(principal, id);
      },
    }),
  }));
}
