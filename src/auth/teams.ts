/**
 * Owns the changes of teams, people and roles above the store: who may make them. What state they
 * need says the team's actor.
 *
 * 1. Nobody gives, widens, cuts or takes away what they do not hold themselves (`escalation.ts`).
 * 2. A team is made and ended by people; a token's power never grows by a team of its own.
 */
import { accountActor, directory } from '../actors/account/protocol.ts';
import type { Actors } from '../actors/runtime/contract.ts';
import { teamActor } from '../actors/team/protocol.ts';
import type { Capability } from '../lib/capabilities.ts';
import { ServiceError } from '../lib/errors.ts';
import { newId } from '../lib/ids.ts';
import type { Reader } from '../store/contract.ts';
import type { InviteRecord, MemberRecord, RoleRecord, TeamRecord } from '../store/records.ts';
import { tables } from '../store/tables.ts';
import { actingTeam, authorize } from './authorize.ts';
import {
  assertMayChangeMember,
  assertMayGive,
  assertMayGiveRole,
  assertOwner,
} from './escalation.ts';
import type { Principal, SignedIn } from './principal.ts';

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
  principal: Principal,
  change: { name: string | null; requireTwoFactor: boolean | null },
): Promise<TeamRecord> {
  const teamId = actingTeam(principal);
  authorize(reader, principal, 'manage_team', { kind: 'team', teamId });
  return actors.ask(teamActor.at(teamId), { type: 'team-update', ...change });
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

/** The open invites of the acting team, in the order of their making. */
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
