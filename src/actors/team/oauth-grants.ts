/** Owns how long what an OAuth client was granted lives on: as long as the client renews it. */
import { ServiceError } from '../../lib/errors.ts';
import type { Reader } from '../../store/reader-and-journal.ts';
import { put } from '../../store/records/table.ts';
import { tables } from '../../store/records/tables.ts';
import type { Actor, ActorContext } from '../runtime/actor.ts';
import type { TeamProtocol } from './protocol.ts';

export function oauthGrantHandlers(
  { reader }: { reader: Reader },
  context: ActorContext<TeamProtocol>,
): Pick<Actor<TeamProtocol>['handlers'], 'grant-extend'> {
  return {
    'grant-extend': async ({ tokenId, expiresAtMs }) => {
      const grant = reader.get(tables.tokens, tokenId);
      if (grant?.homeTeamId !== context.ref.id || !grant.oauth) {
        throw new ServiceError('NOT_FOUND', 'No such grant.');
      }
      // Two answers to one client may arrive in either order.
      if ((grant.expiresAtMs ?? 0) >= expiresAtMs) return true;
      await context.commit([put(tables.tokens, { ...grant, expiresAtMs })]);
      return true;
    },
  };
}
