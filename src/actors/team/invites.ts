/**
 * Owns a team's invites: a place for whoever holds the link.
 *
 * 1. An invite is redeemed once: its record is removed in the commit that makes the member.
 * 2. An invite is worth no more than its giver may still give. When the giver has left or holds less now,
 *    the invite is as unknown as one that was used, revoked, or has expired.
 * 3. Each address has one open invite: a new invite replaces it, and the older link is dead.
 */
import { ServiceError } from '../../lib/errors.ts';
import type { Reader } from '../../store/reader-and-journal.ts';
import type { InviteRecord, MemberRecord } from '../../store/records/records.ts';
import { type Change, insert, remove, take } from '../../store/records/table.ts';
import { tables } from '../../store/records/tables.ts';
import { newPersonChanges } from '../account/new-person.ts';
import type { ActorContext } from '../runtime/actor.ts';
import type { TeamHandlers, TeamProtocol } from './protocol.ts';
import { holds, type Team, worthOf } from './team.ts';

const invitesMax = 200;
const membersMax = 1_000;

type Context = ActorContext<TeamProtocol>;

/** The one answer to a token that is unknown, malformed, used, revoked, or expired. */
export function noSuchInvite(): ServiceError {
  return new ServiceError('NOT_FOUND', 'This invite is not valid: ask for a new one.');
}

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

/** The changes that end an invite, which may be gone already. */
export function inviteEnd(context: Context, invite: Readonly<InviteRecord>): Change[] {
  return [remove(tables.invites, invite.id), context.clearAlarm(alarmOf(invite.id))];
}

export function inviteHandlers(team: Team) {
  const { id: teamId, reader, clock, context } = team;
  return {
    'invite-create': async ({ invite }) => {
      team.require();
      if (invite.teamId !== teamId) throw new Error('an invite of another team');
      team.mustHold(invite.invitedBy, ['manage_members']);
      team.mustHold(invite.invitedBy, worthOf(team.role(invite.roleId)));
      const invited = reader.find(tables.auth, 'email', [invite.email]);
      if (invited && reader.get(tables.members, [teamId, invited.id])) {
        throw new ServiceError('CONFLICT', 'This person is in the team already.');
      }
      const before = reader.find(tables.invites, 'address', [teamId, invite.email]);
      if (!before) team.mustHaveRoom(tables.invites, invitesMax, 'open invites');
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
    'invite-accept': (message) => accept(team, message),
  } satisfies TeamHandlers;
}

async function accept(
  team: Team,
  { hash, userId, person }: TeamProtocol['invite-accept']['in'],
): Promise<MemberRecord> {
  const { id: teamId, reader, clock, context } = team;
  const invite = reader.find(tables.invites, 'hash', [hash]);
  const atMs = clock.now();
  if (invite?.teamId !== teamId || !isOpen(reader, invite, atMs)) throw noSuchInvite();
  if (reader.get(tables.members, [teamId, userId])) {
    throw new ServiceError('CONFLICT', 'You are in this team already.');
  }
  team.mustHaveRoom(tables.members, membersMax, 'people');
  const { email } = invite;
  const member = { teamId, userId, roleId: invite.roleId, joinedAtMs: atMs };
  await context.commit([
    take(tables.invites, invite.id),
    context.clearAlarm(alarmOf(invite.id)),
    // The address is the invite's, whatever the new person's form says.
    ...(person === null
      ? []
      : newPersonChanges({ ...person, userId, email }, { isInstanceAdmin: false, atMs })),
    insert(tables.members, member),
  ]);
  return member;
}

function alarmOf(inviteId: string): string {
  return `invite ${inviteId}`;
}
