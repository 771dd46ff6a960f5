/**
 * Owns a team's settings and its end.
 *
 * 1. A team ends whole, in one commit: its people, roles, folders, tokens, registries and invites go with it.
 * 2. It ends only when it is empty: apps and databases, also those in trash, are deleted before.
 * 3. Two-factor that is required is due at once or after a grace, which ends by an alarm. Asking for it
 *    again does not move the grace; only days that are named do, and switching it off and on.
 */
import type { Clock } from '../../lib/clock.ts';
import { ServiceError } from '../../lib/errors.ts';
import type { Reader } from '../../store/reader-and-journal.ts';
import type { TeamRecord } from '../../store/records/records.ts';
import { type Change, put, remove, take } from '../../store/records/table.ts';
import { tables } from '../../store/records/tables.ts';
import type { Actor, ActorContext } from '../runtime/actor.ts';
import { inviteEnd } from './invites.ts';
import { checkedTeamName } from './new-team.ts';
import { mustHold, teamOf } from './power.ts';
import type { TeamChange, TeamProtocol } from './protocol.ts';

type Context = ActorContext<TeamProtocol>;

/** For who has no two-factor when a team begins to require it. */
export const graceDaysDefault = 7;
const dayMs = 24 * 3_600_000;
const graceAlarm = 'two-factor';

export function teamLifeHandlers(
  { reader, clock }: { reader: Reader; clock: Clock },
  context: Context,
): Pick<Actor<TeamProtocol>['handlers'], 'team-update' | 'team-delete' | 'two-factor-due'> {
  const teamId = context.ref.id;
  return {
    'team-update': async (change) => {
      const team = teamOf(reader, teamId);
      const untilMs = graceAfter(team, change, clock.now());
      const changed = {
        ...team,
        name: change.name === null ? team.name : checkedTeamName(change.name),
        requireTwoFactor: change.requireTwoFactor ?? team.requireTwoFactor,
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
      const team = reader.get(tables.teams, teamId);
      // It may have been moved while this was on its way.
      if (team?.twoFactorGraceUntilMs !== untilMs) return false;
      await context.commit([put(tables.teams, { ...team, twoFactorGraceUntilMs: null })]);
      return true;
    },
    'team-delete': async ({ by }) => {
      teamOf(reader, teamId);
      mustHold(reader, teamId, by, 'owner');
      const first = { limit: 1 };
      if (reader.list(tables.apps, 'team', [teamId], first).length > 0) {
        throw new ServiceError('CONFLICT', 'The team has apps: delete them first.');
      }
      if (reader.count(tables.databases, 'team', [teamId]) > 0) {
        throw new ServiceError('CONFLICT', 'The team has databases: delete them first.');
      }
      if (reader.list(tables.trash, 'team', [teamId], first).length > 0) {
        throw new ServiceError('CONFLICT', 'The team has things in trash: purge them first.');
      }
      await context.commit([
        take(tables.teams, teamId),
        context.clearAlarm(graceAlarm),
        ...everythingOf(reader, context),
      ]);
      return true;
    },
  };
}

/** Until when people without two-factor may go on; null: nobody has to have it, or all have at once. */
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

function everythingOf(reader: Reader, context: Context): Change[] {
  const teamId = context.ref.id;
  const all = { limit: Infinity };
  return [
    ...reader
      .list(tables.members, 'team', [teamId], all)
      .map((member) => remove(tables.members, [teamId, member.userId])),
    ...reader
      .list(tables.folderGrants, 'member', [teamId], all)
      .map((grant) => remove(tables.folderGrants, [grant.folderId, grant.userId])),
    ...reader
      .list(tables.invites, 'team', [teamId], all)
      .flatMap((invite) => inviteEnd(context, invite)),
    ...reader
      .list(tables.tokens, 'team', [teamId], all)
      .map((token) => remove(tables.tokens, token.id)),
    ...reader
      .list(tables.registries, 'team', [teamId], all)
      .map((registry) => remove(tables.registries, registry.id)),
    ...reader
      .list(tables.folders, 'team', [teamId], all)
      .map((folder) => remove(tables.folders, folder.id)),
    ...reader
      .list(tables.roles, 'team', [teamId], all)
      .map((role) => remove(tables.roles, role.id)),
  ];
}
