/**
 * Owns a team's settings and its deletion.
 *
 * 1. A team is deleted as a whole, in one commit, with its people, roles, folders, tokens, registries,
 *    git connections, destinations of backups and invites. The backups themselves stay where they are.
 * 2. Only an empty team can be deleted: apps and databases, even those in trash, are deleted before.
 * 3. Required two-factor is due at once or after a grace, which ends by an alarm. Requiring it again does
 *    not move the grace; a named number of days does, and so does switching it off and on.
 */
import { ServiceError } from '../../lib/errors.ts';
import { checkedName } from '../../lib/names.ts';
import type { TeamRecord } from '../../store/records/records.ts';
import { type Change, put, removeAll, type Table, take } from '../../store/records/table.ts';
import { tables } from '../../store/records/tables.ts';
import { inviteEnd } from './invites.ts';
import type { TeamChange, TeamHandlers } from './protocol.ts';
import type { Team } from './team.ts';

/** For people without two-factor when a team begins to require it. */
export const graceDaysDefault = 7;
const dayMs = 24 * 3_600_000;
const graceAlarm = 'two-factor';

export function teamLifeHandlers(team: Team) {
  const { id: teamId, reader, clock, context } = team;
  return {
    'mcp-set': async ({ enabled }) => {
      const changed = { ...team.require(), mcpEnabled: enabled };
      await context.commit([put(tables.teams, changed)]);
      return changed;
    },
    'team-update': async (change) => {
      const record = team.require();
      const untilMs = graceAfter(record, change, clock.now());
      const changed = {
        ...record,
        name: change.name === null ? record.name : checkedName(change.name, 'A team name'),
        requireTwoFactor: change.requireTwoFactor ?? record.requireTwoFactor,
        twoFactorGraceUntilMs: untilMs,
      };
      const alarm =
        untilMs === null
          ? context.clearAlarm(graceAlarm)
          : context.alarm(graceAlarm, untilMs, { type: 'two-factor-due', untilMs });
      await context.commit([put(tables.teams, changed), alarm]);
      return changed;
    },
    'two-factor-due': async ({ untilMs }) => {
      const record = reader.get(tables.teams, teamId);
      // The grace may have been moved while this alarm was on its way.
      if (record?.twoFactorGraceUntilMs !== untilMs) return false;
      await context.commit([put(tables.teams, { ...record, twoFactorGraceUntilMs: null })]);
      return true;
    },
    'team-delete': async ({ by }) => {
      team.require();
      team.mustHold(by, 'owner');
      if (reader.count(tables.apps, 'team', [teamId]) > 0) {
        throw new ServiceError('CONFLICT', 'The team has apps: delete them first.');
      }
      if (reader.count(tables.databases, 'team', [teamId]) > 0) {
        throw new ServiceError('CONFLICT', 'The team has databases: delete them first.');
      }
      if (reader.count(tables.trash, 'team', [teamId]) > 0) {
        throw new ServiceError('CONFLICT', 'The team has things in trash: purge them first.');
      }
      await context.commit([
        take(tables.teams, teamId),
        context.clearAlarm(graceAlarm),
        ...everythingOf(team),
      ]);
      return true;
    },
  } satisfies TeamHandlers;
}

/** Until when people without two-factor may still act; null: nobody needs it, or everybody does at once. */
function graceAfter(team: Readonly<TeamRecord>, change: TeamChange, now: number): number | null {
  const { requireTwoFactor, twoFactorGraceMs } = change;
  if (requireTwoFactor === false) return null;
  if (requireTwoFactor === null && !team.requireTwoFactor) {
    if (twoFactorGraceMs === null) return null;
    throw new ServiceError(
      'BAD_USER_INPUT',
      'twoFactorGraceDays is for a team that requires two-factor: give requireTwoFactor: true.',
    );
  }
  if (team.requireTwoFactor && twoFactorGraceMs === null) return team.twoFactorGraceUntilMs ?? null;
  const graceMs = twoFactorGraceMs ?? graceDaysDefault * dayMs;
  return graceMs === 0 ? null : now + graceMs;
}

function everythingOf({ id, reader, context }: Team): Change[] {
  const all = { limit: Infinity };
  const allOf = <R, I extends string>(table: Table<R, I>, index: I): Change[] =>
    removeAll(table, reader.list(table, index, [id], all));
  return [
    ...allOf(tables.members, 'team'),
    ...allOf(tables.folderGrants, 'member'),
    ...reader
      .list(tables.invites, 'team', [id], all)
      .flatMap((invite) => inviteEnd(context, invite)),
    ...allOf(tables.tokens, 'team'),
    ...allOf(tables.registries, 'team'),
    ...allOf(tables.gitConnections, 'team'),
    ...allOf(tables.backupRuns, 'team'),
    ...allOf(tables.backupSchedules, 'team'),
    ...allOf(tables.destinations, 'team'),
    ...allOf(tables.folders, 'team'),
    ...allOf(tables.roles, 'team'),
  ];
}
