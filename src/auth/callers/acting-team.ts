/**
 * Owns which team a request acts in.
 *
 * 1. A team that the caller names and is not in is FORBIDDEN, and so is one that does not exist.
 * 2. Nobody acts silently in another team than the chosen one. When the caller is no longer in it,
 *    there is no acting team until the caller names one.
 */
import { ServiceError } from '../../lib/errors.ts';
import type { Reader } from '../../store/reader-and-journal.ts';
import type { TokenRecord } from '../../store/records/records.ts';
import { tables } from '../../store/records/tables.ts';
import { readMemberships } from './account-reads.ts';
import { reachOfTeam, scopedTeams } from '../rights/scope.ts';

export function personTeam(
  reader: Reader,
  userId: string,
  named: string,
  current: string | null,
): string | null {
  if (named !== '') return ownTeam(reader, userId, named);
  if (current !== null) return isMember(reader, userId, current) ? current : null;
  return readMemberships(reader, userId)[0]?.teamId ?? null;
}

export function tokenTeam(
  reader: Reader,
  token: Readonly<TokenRecord>,
  named: string,
): string | null {
  if (named !== '') {
    const teamId = ownTeam(reader, token.userId, named);
    if (reachOfTeam(reader, token, teamId) === 'none') throw notYours();
    return teamId;
  }
  const first = token.allTeams ? token.homeTeamId : scopedTeams(reader, token)[0];
  return first !== undefined && isMember(reader, token.userId, first) ? first : null;
}

export function isMember(reader: Reader, userId: string, teamId: string): boolean {
  return (
    reader.get(tables.members, [teamId, userId]) !== undefined &&
    reader.get(tables.teams, teamId) !== undefined
  );
}

function ownTeam(reader: Reader, userId: string, named: string): string {
  const team = reader.get(tables.teams, named) ?? reader.find(tables.teams, 'slug', [named]);
  if (!team || !isMember(reader, userId, team.id)) throw notYours();
  return team.id;
}

function notYours(): ServiceError {
  return new ServiceError('FORBIDDEN', 'X-Service-Team names a team you are not in.');
}
