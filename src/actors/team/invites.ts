/**
 * Owns a team's invites: a place for whoever holds the link.
 *
 * 1. One invite is redeemed once: its record is taken in the commit that makes the member.
 * 2. An invite is worth no more than what its giver may still give. When the giver has left or was
 *    demoted below it, it is as unknown as one that was used, revoked, or has expired.
 * 3. One open invite for each address: inviting again replaces it, and the older link is dead.
 */
import type { Clock } from '../../lib/clock.ts';
import { ServiceError } from '../../lib/errors.ts';
import type { Reader } from '../../store/reader-and-journal.ts';
import type { InviteRecord } from '../../store/records/records.ts';
import { type Change, insert, remove, take } from '../../store/records/table.ts';
import { tables } from '../../store/records/tables.ts';
import { newPersonChanges } from '../account/new-person.ts';
import type { Actor, ActorContext } from '../runtime/actor.ts';
import { holds, mustHold, roleOf, teamOf, worthOf } from './power.ts';
import type { TeamProtocol } from './protocol.ts';

export interface InviteOptions {
  reader: Reader;
  clock: Clock;
  /** Open invites a team may have; default 200. */
  invitesMax?: number;
  /** People a team may have; default 1,000. */
  membersMax?: number;
}

type Context = ActorContext<TeamProtocol>;

/** The one answer to a token that is unknown, malformed, used, revoked, or expired. */
export function noSuchInvite(): ServiceError {
  return new ServiceError('NOT_FOUND', 'This invite is not valid: ask for a new one.');
}

/** Whether the invite can be redeemed now. */
export function isOpen(
  reader: Reader,
  invite: Readonly<InviteRecord> | undefined,
  now: number,
): invite is Readonly<InviteRecord> {
  if (invite === undefined || invite.expiresAtMs <= now) return false;
  const role = reader.get(tables.roles, invite.roleId);
  if (role?.teamId !== invite.teamId || !reader.get(tables.teams, invite.teamId)) return false;
  return (
    holds(reader, invite.teamId, invite.invitedBy, ['manage_members']) &&
    holds(reader, invite.teamId, invite.invitedBy, worthOf(role))
  );
}

/** The changes that end an invite that need not be there any more. */
export function inviteEnd(context: Context, invite: Readonly<InviteRecord>): Change[] {
  return [remove(tables.invites, invite.id), context.clearAlarm(alarmOf(invite.id))];
}

export function inviteHandlers(
  options: InviteOptions,
  context: Context,
): Pick<
  Actor<TeamProtocol>['handlers'],
  'invite-create' | 'invite-revoke' | 'invite-expire' | 'invite-accept'
> {
  const { reader, clock, invitesMax = 200 } = options;
  const teamId = context.ref.id;
  return {
    'invite-create': async ({ invite }) => {
      teamOf(reader, teamId);
      if (invite.teamId !== teamId) throw new Error('an invite of another team');
      mustHold(reader, teamId, invite.invitedBy, ['manage_members']);
      mustHold(reader, teamId, invite.invitedBy, worthOf(roleOf(reader, teamId, invite.roleId)));
      const invited = reader.find(tables.auth, 'email', [invite.email]);
      if (invited && reader.get(tables.members, [teamId, invited.id])) {
        throw new ServiceError('CONFLICT', 'This person is in the team already.');
      }
      const before = reader.find(tables.invites, 'address', [teamId, invite.email]);
      if (!before && reader.count(tables.invites, 'team', [teamId]) >= invitesMax) {
        const most = String(invitesMax);
        throw new ServiceError('CONFLICT', `A team has at most ${most} open invites.`);
      }
      await context.commit([
        ...(before ? inviteEnd(context, before) : []),
        insert(tables.invites, invite),
        context.alarm(alarmOf(invite.id), invite.expiresAtMs, {
          type: 'invite-expire',
          inviteId: invite.id,
        }),
      ]);
      return invite;
    },
    'invite-revoke': async ({ inviteId }) => {
      const invite = reader.get(tables.invites, inviteId);
      if (invite?.teamId !== teamId) throw new ServiceError('NOT_FOUND', 'No such invite.');
      await context.commit([take(tables.invites, inviteId), context.clearAlarm(alarmOf(inviteId))]);
      return true;
    },
    'invite-expire': async ({ inviteId }) => {
      const invite = reader.get(tables.invites, inviteId);
      if (invite?.teamId !== teamId || invite.expiresAtMs > clock.now()) return false;
      await context.commit([remove(tables.invites, inviteId)]);
      return true;
    },
    ...acceptHandler(options, context),
  };
}

function acceptHandler(
  { reader, clock, membersMax = 1_000 }: InviteOptions,
  context: Context,
): Pick<Actor<TeamProtocol>['handlers'], 'invite-accept'> {
  const teamId = context.ref.id;
  return {
    'invite-accept': async ({ hash, userId, person }) => {
      const invite = reader.find(tables.invites, 'hash', [hash]);
      if (invite?.teamId !== teamId || !isOpen(reader, invite, clock.now())) throw noSuchInvite();
      if (reader.get(tables.members, [teamId, userId])) {
        throw new ServiceError('CONFLICT', 'You are in this team already.');
      }
      if (reader.count(tables.members, 'team', [teamId]) >= membersMax) {
        throw new ServiceError('CONFLICT', `A team has at most ${String(membersMax)} people.`);
      }
      const atMs = clock.now();
      const member = { teamId, userId, roleId: invite.roleId, joinedAtMs: atMs };
      await context.commit([
        take(tables.invites, invite.id),
        context.clearAlarm(alarmOf(invite.id)),
        // The address is the invite's, whatever the one who redeems it says.
        ...(person === null
          ? []
          : newPersonChanges(
              { ...person, userId, email: invite.email },
              { isInstanceAdmin: false, atMs },
            )),
        insert(tables.members, member),
      ]);
      return member;
    },
  };
}

function alarmOf(inviteId: string): string {
  return `invite ${inviteId}`;
}
