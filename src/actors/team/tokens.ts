/**
 * Owns the tokens of a team: those that people make, and the grants of OAuth clients, which live as long as
 * the client renews them.
 */
import { ServiceError } from '../../lib/errors.ts';
import type { TokenRecord } from '../../store/records/records.ts';
import { insert, put, take } from '../../store/records/table.ts';
import { tables } from '../../store/records/tables.ts';
import type { TeamHandlers, TokenUse } from './protocol.ts';
import type { Team } from './team.ts';

const tokensMax = 1_000;

export function tokenHandlers(team: Team) {
  const { reader, context } = team;
  return {
    'token-create': async ({ token }) => {
      team.require();
      if (token.homeTeamId !== team.id) throw new Error('a token of another team');
      // A member who was removed meanwhile must not keep a token for a later return.
      if (!reader.get(tables.members, [team.id, token.userId])) {
        throw new ServiceError('FORBIDDEN', 'You are not in this team.');
      }
      team.mustHaveRoom(tables.tokens, tokensMax, 'tokens');
      await context.commit([insert(tables.tokens, token)]);
      return token;
    },
    'token-revoke': async ({ tokenId }) => {
      const token = reader.get(tables.tokens, tokenId);
      if (token?.homeTeamId !== team.id) throw new ServiceError('NOT_FOUND', 'No such token.');
      await context.commit([take(tables.tokens, tokenId)]);
      return true;
    },
    'tokens-used': async ({ uses }) => {
      const changes = changedUses(team, uses).map((token) => put(tables.tokens, token));
      if (changes.length > 0) await context.commit(changes);
      return true;
    },
    'grant-extend': async ({ tokenId, expiresAtMs }) => {
      const grant = reader.get(tables.tokens, tokenId);
      if (grant?.homeTeamId !== team.id || !grant.oauth) {
        throw new ServiceError('NOT_FOUND', 'No such grant.');
      }
      // Two answers to one client may arrive in either order.
      if ((grant.expiresAtMs ?? 0) >= expiresAtMs) return true;
      await context.commit([put(tables.tokens, { ...grant, expiresAtMs })]);
      return true;
    },
  } satisfies TeamHandlers;
}

function changedUses({ id, reader }: Team, uses: readonly TokenUse[]): TokenRecord[] {
  return uses.flatMap(({ tokenId, atMs }) => {
    const token = reader.get(tables.tokens, tokenId);
    if (token?.homeTeamId !== id || (token.lastUsedAtMs ?? 0) >= atMs) return [];
    return [{ ...token, lastUsedAtMs: atMs }];
  });
}
