/**
 * Owns the making of teams. The directory makes them, one after another, so that two of one name
 * find two slugs and nobody founds more than the bound.
 */
import type { Clock } from '../../lib/clock.ts';
import { ServiceError } from '../../lib/errors.ts';
import type { Reader } from '../../store/reader-and-journal.ts';
import { tables } from '../../store/records/tables.ts';
import type { Actor, ActorContext } from '../runtime/actor.ts';
import { checkedTeamName, newTeamChanges } from '../team/new-team.ts';
import type { AccountProtocol } from './protocol.ts';

export interface TeamFounding {
  reader: Reader;
  clock: Clock;
  /** Teams a person may own; default 50. */
  teamsMax?: number;
}

export function foundingHandlers(
  { reader, clock, teamsMax = 50 }: TeamFounding,
  context: ActorContext<AccountProtocol>,
): Pick<Actor<AccountProtocol>['handlers'], 'team-create'> {
  return {
    'team-create': async ({ teamId, ownerId, name: given }) => {
      const name = checkedTeamName(given);
      if (!reader.get(tables.auth, ['user', ownerId])) {
        throw new ServiceError('UNAUTHENTICATED', 'Sign in first.');
      }
      if (ownedTeams(reader, ownerId) >= teamsMax) {
        throw new ServiceError('CONFLICT', `A person owns at most ${String(teamsMax)} teams.`);
      }
      const isSlugTaken = (slug: string): boolean =>
        reader.find(tables.teams, 'slug', [slug]) !== undefined;
      await context.commit(
        newTeamChanges({ teamId, name, ownerId, atMs: clock.now(), isSlugTaken }),
      );
      const team = reader.get(tables.teams, teamId);
      if (!team) throw new Error('a team that was made is not there');
      return team;
    },
  };
}

function ownedTeams(reader: Reader, userId: string): number {
  return reader
    .list(tables.members, 'user', [userId])
    .filter((member) => reader.get(tables.roles, member.roleId)?.builtIn === 'owner').length;
}
