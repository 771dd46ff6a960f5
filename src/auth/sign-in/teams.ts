/**
 * Owns who may change teams, members and roles. The team's actor checks the state that a change needs.
 *
 * 1. Nobody gives, extends, reduces or takes away what they do not hold themselves (`escalation.ts`).
 * 2. People make and delete teams. A token's power never grows by a team of its own.
 */
import { accountActor, directory } from '../../actors/account/protocol.ts';
import type { Actors } from '../../actors/runtime/actor.ts';
import { teamActor } from '../../actors/team/protocol.ts';
import type { Capability } from '../../lib/capabilities.ts';
import { ServiceError } from '../../lib/errors.ts';
import { newId } from '../../lib/ids.ts';
import type { Reader } from '../../store/reader-and-journal.ts';
import type {
  InviteRecord,
  MemberRecord,
  RoleRecord,
  TeamRecord,
  TokenRecord,
} from '../../store/records/records.ts';
import { tables } from '../../store/records/tables.ts';
import { readUser } from '../callers/account-reads.ts';
import { actingTeam, authorize } from '../rights/authorize.ts';
import {
  assertMayChangeMember,
  assertMayGive,
  assertMayGiveRole,
  assertOwner,
} from '../rights/escalation.ts';
import type { Principal, SignedIn } from '../callers/principal.ts';
import { reachOfTeam } from '../rights/scope.ts';

const dayMs = 24 * 3_600_000;
const graceDaysMax = 90;

interface TeamsOptions {
  reader: Reader;
  actors: Actors;
}

export function createTeam(
  { actors }: TeamsOptions,
  principal: SignedIn,
  name: string,
): Promise<TeamRecord> {
  return actors.ask(accountActor.at(directory), {
    type: 'team-create',
    teamId: newId('team'),
    ownerId: principal.userId,
    name,
  });
}

/** What is null stays. */
export function updateTeam(
  { reader, actors }: TeamsOptions,
  principal: SignedIn,
  change: {
    name: string | null;
    requireTwoFactor: boolean | null;
    twoFactorGraceDays: number | null;
  },
): Promise<TeamRecord> {
  const teamId = actingTeam(principal);
  authorize(reader, principal, 'manage_team', { kind: 'team', teamId });
  const { name, requireTwoFactor, twoFactorGraceDays: days } = change;
  if (requireTwoFactor === true || days !== null) mustHaveTwoFactor(reader, principal);
  if (days !== null && !(days >= 0 && days <= graceDaysMax)) {
    throw new ServiceError('BAD_USER_INPUT', 'twoFactorGraceDays is 0 to 90.');
  }
  const twoFactorGraceMs = days === null ? null : days * dayMs;
  const message = { type: 'team-update', name, requireTwoFactor, twoFactorGraceMs } as const;
  return actors.ask(teamActor.at(teamId), message);
}

/** A person who requires two-factor without having it would be the first to be kept out. */
function mustHaveTwoFactor(reader: Reader, principal: SignedIn): void {
  if (readUser(reader, principal.userId)?.twoFactorEnabled === true) return;
  throw new ServiceError(
    'TWO_FACTOR_REQUIRED',
    'Turn on two-factor for yourself before you ask others for it: at /account/two-factor.',
  );
}

/** A member of a team without two-factor, and what acts in the team with that person's rights. */
export interface WithoutTwoFactor {
  member: Readonly<MemberRecord>;
  /** API tokens and grants of OAuth clients, with which deploy hooks are called, too. */
  tokens: Readonly<TokenRecord>[];
}

/** Members whom required two-factor keeps out, or would keep out; needs `manage_team`. */
export function withoutTwoFactor(
  reader: Reader,
  principal: Principal,
  teamId: string,
): WithoutTwoFactor[] {
  authorize(reader, principal, 'manage_team', { kind: 'team', teamId });
  const all = { limit: Infinity };
  return reader
    .list(tables.members, 'team', [teamId], all)
    .filter(({ userId }) => readUser(reader, userId)?.twoFactorEnabled !== true)
    .map((member) => ({
      member,
      tokens: reader
        .list(tables.tokens, 'user', [member.userId], all)
        .filter((token) => reachOfTeam(reader, token, teamId) !== 'none'),
    }));
}

export function deleteTeam(
  { reader, actors }: TeamsOptions,
  principal: Principal,
  teamId: string,
): Promise<boolean> {
  assertOwner(reader, principal, teamId);
  return actors.ask(teamActor.at(teamId), { type: 'team-delete', by: principal.userId });
}

export function updateMember(
  { reader, actors }: TeamsOptions,
  principal: Principal,
  { userId, roleId }: { userId: string; roleId: string },
): Promise<MemberRecord> {
  const teamId = actingTeam(principal);
  authorize(reader, principal, 'manage_members', { kind: 'team', teamId });
  assertMayChangeMember(reader, principal, teamId, userId);
  assertMayGiveRole(reader, principal, roleIn(reader, teamId, roleId));
  const message = { type: 'member-update', userId, roleId, by: principal.userId } as const;
  return actors.ask(teamActor.at(teamId), message);
}

export function removeMember(
  { reader, actors }: TeamsOptions,
  principal: Principal,
  userId: string,
): Promise<boolean> {
  const teamId = actingTeam(principal);
  authorize(reader, principal, 'manage_members', { kind: 'team', teamId });
  assertMayChangeMember(reader, principal, teamId, userId);
  return actors.ask(teamActor.at(teamId), { type: 'member-remove', userId, by: principal.userId });
}

export function createRole(
  { reader, actors }: TeamsOptions,
  principal: Principal,
  { name, capabilities }: { name: string; capabilities: Capability[] },
): Promise<RoleRecord> {
  const teamId = actingTeam(principal);
  authorize(reader, principal, 'manage_roles', { kind: 'team', teamId });
  assertMayGive(reader, principal, teamId, capabilities);
  const message = { type: 'role-create', name, capabilities, by: principal.userId } as const;
  return actors.ask(teamActor.at(teamId), message);
}

/** What is null stays. */
export function updateRole(
  { reader, actors }: TeamsOptions,
  principal: Principal,
  change: { roleId: string; name: string | null; capabilities: Capability[] | null },
): Promise<RoleRecord> {
  const teamId = actingTeam(principal);
  authorize(reader, principal, 'manage_roles', { kind: 'team', teamId });
  const role = roleIn(reader, teamId, change.roleId);
  if (change.capabilities !== null && role.builtIn === null) {
    assertMayGive(reader, principal, teamId, [...role.capabilities, ...change.capabilities]);
  }
  const message = { type: 'role-update', ...change, by: principal.userId } as const;
  return actors.ask(teamActor.at(teamId), message);
}

export function deleteRole(
  { reader, actors }: TeamsOptions,
  principal: Principal,
  roleId: string,
): Promise<boolean> {
  const teamId = actingTeam(principal);
  authorize(reader, principal, 'manage_roles', { kind: 'team', teamId });
  roleIn(reader, teamId, roleId);
  return actors.ask(teamActor.at(teamId), { type: 'role-delete', roleId });
}

/** The open invites of the acting team, in the order in which they were made. */
export function listInvites(reader: Reader, principal: Principal): Readonly<InviteRecord>[] {
  const teamId = actingTeam(principal);
  authorize(reader, principal, 'manage_members', { kind: 'team', teamId });
  return reader.list(tables.invites, 'team', [teamId]);
}

export function revokeInvite(
  { reader, actors }: TeamsOptions,
  principal: Principal,
  inviteId: string,
): Promise<boolean> {
  const teamId = actingTeam(principal);
  authorize(reader, principal, 'manage_members', { kind: 'team', teamId });
  return actors.ask(teamActor.at(teamId), { type: 'invite-revoke', inviteId });
}

function roleIn(reader: Reader, teamId: string, roleId: string): Readonly<RoleRecord> {
  const role = reader.get(tables.roles, roleId);
  if (role?.teamId !== teamId) throw new ServiceError('NOT_FOUND', 'No such role.');
  return role;
}
