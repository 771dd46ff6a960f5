/** Owns in the schema what acts for a person: API tokens, and what OAuth clients were granted. */
import { teamActor } from '../../actors/team/protocol.ts';
import { createToken } from '../../auth/callers/tokens.ts';
import { isScopeGone } from '../../auth/rights/scope.ts';
import { systemClock } from '../../lib/clock.ts';
import { ServiceError } from '../../lib/errors.ts';
import type { TokenRecord } from '../../store/records/records.ts';
import { tables } from '../../store/records/tables.ts';
import { askActor, requirePerson, requireSignedIn, requireTeam, writeSide } from '../access.ts';
import { builder, CapabilityType, secret } from './builder.ts';
import { actingTeam, needs } from './needs.ts';

const ApiTokenType = builder.objectRef<Readonly<TokenRecord>>('ApiToken').implement({
  fields: (t) => ({
    id: t.exposeID('id'),
    name: t.exposeString('name'),
    prefix: t.exposeString('prefix'),
    capabilities: t.expose('capabilities', { type: [CapabilityType] }),
    allTeams: t.exposeBoolean('allTeams'),
    teamIds: t.exposeIDList('teamIds'),
    folderIds: t.exposeIDList('folderIds'),
    appIds: t.exposeIDList('appIds'),
    databaseIds: t.exposeIDList('databaseIds'),
    scopeGone: t.boolean({
      description: 'Whether all that it was made for is deleted: it reaches nothing.',
      resolve: (token, _args, { read }) => isScopeGone(read.reader, token),
    }),
    createdAt: t.expose('createdAtMs', { type: 'DateTime' }),
    lastUsedAt: t.expose('lastUsedAtMs', { type: 'DateTime', nullable: true }),
    expiresAt: t.expose('expiresAtMs', { type: 'DateTime', nullable: true }),
  }),
});

const CreateTokenPayloadType = builder
  .objectRef<{ token: TokenRecord; secret: string }>('CreateTokenPayload')
  .implement({
    fields: (t) => ({
      token: t.expose('token', { type: ApiTokenType }),
      secret: t.exposeString('secret', { description: 'Shown this once.', ...secret }),
    }),
  });

const CreateTokenInput = builder.inputType('CreateTokenInput', {
  fields: (t) => ({
    name: t.string({ required: true }),
    capabilities: t.field({ type: [CapabilityType], required: true, defaultValue: [] }),
    teamIds: t.idList(),
    folderIds: t.idList(),
    appIds: t.idList(),
    databaseIds: t.idList(),
    expiresAt: t.field({ type: 'DateTime' }),
  }),
});

const OAuthGrantType = builder.objectRef<Readonly<TokenRecord>>('OAuthGrant').implement({
  fields: (t) => ({
    id: t.exposeID('id'),
    clientName: t.exposeString('name'),
    clientHost: t.string({ nullable: true, resolve: ({ oauth }) => oauth?.host ?? null }),
    capabilities: t.expose('capabilities', { type: [CapabilityType] }),
    teamId: t.exposeID('homeTeamId'),
    createdAt: t.expose('createdAtMs', { type: 'DateTime' }),
    lastUsedAt: t.expose('lastUsedAtMs', { type: 'DateTime', nullable: true }),
  }),
});

builder.queryFields((t) => ({
  apiTokens: t.field({
    type: [ApiTokenType],
    ...needs('manage_tokens', actingTeam, {
      description: 'The tokens made in the acting team.',
      resolve: (teamId, _args, { read }) => read.reader.list(tables.tokens, 'team', [teamId]),
    }),
  }),
  myGrants: t.field({
    type: [OAuthGrantType],
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
  createToken: t.field({
    type: CreateTokenPayloadType,
    ...needs('manage_tokens', actingTeam, {
      args: { input: t.arg({ type: CreateTokenInput, required: true }) },
      resolve: (_teamId, { input }, context) => {
        const { reader } = context.read;
        const options = { reader, actors: writeSide(context).actors, clock: systemClock };
        return createToken(options, requireSignedIn(context), {
          name: input.name,
          capabilities: input.capabilities,
          teamIds: input.teamIds ?? [],
          folderIds: input.folderIds ?? [],
          appIds: input.appIds ?? [],
          databaseIds: input.databaseIds ?? [],
          expiresAtMs: input.expiresAt ?? null,
        });
      },
    }),
  }),
  revokeToken: t.boolean({
    description: 'manage_tokens; a person needs nothing to revoke a token of their own.',
    args: { id: t.arg.id({ required: true }) },
    resolve: (_root, { id }, context) => {
      const principal = requireSignedIn(context);
      const token = context.read.reader.get(tables.tokens, id);
      // A token that reaches less than its owner may not end the owner's other tokens.
      const own = principal.kind === 'person' && token?.userId === principal.userId;
      const teamId = own ? token.homeTeamId : requireTeam(context, 'manage_tokens');
      // Tokens of other teams do not exist here.
      if (token?.homeTeamId !== teamId) throw new ServiceError('NOT_FOUND', 'No such token.');
      return askActor(context, teamActor.at(teamId), { type: 'token-revoke', tokenId: id });
    },
  }),
  revokeGrant: t.boolean({
    description: "One's own OAuth grant: what the client has open ends with it.",
    args: { id: t.arg.id({ required: true }) },
    resolve: (_root, { id }, context) => {
      const { userId } = requirePerson(context);
      const found = context.read.reader.get(tables.tokens, id);
      if (!found?.oauth || found.userId !== userId) {
        throw new ServiceError('NOT_FOUND', 'No such grant.');
      }
      const home = teamActor.at(found.homeTeamId);
      return askActor(context, home, { type: 'token-revoke', tokenId: id });
    },
  }),
}));
