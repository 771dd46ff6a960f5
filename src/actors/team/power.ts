/**
 * Owns the second look at who changes people: `src/auth` decided before the message was sent, and
 * here, where messages come one after another, it still has to hold. So of two owners who demote
 * each other at the same time, the second finds that it is no owner any more.
 */
import type { Capability } from '../../lib/capabilities.ts';
import { ServiceError } from '../../lib/errors.ts';
import type { Reader } from '../../store/reader-and-journal.ts';
import type { RoleRecord, TeamRecord } from '../../store/records/records.ts';
import { tables } from '../../store/records/tables.ts';

export function teamOf(reader: Reader, teamId: string): Readonly<TeamRecord> {
  const team = reader.get(tables.teams, teamId);
  if (!team) throw new ServiceError('NOT_FOUND', 'No such team.');
  return team;
}

export function roleOf(reader: Reader, teamId: string, roleId: string): Readonly<RoleRecord> {
  const role = reader.get(tables.roles, roleId);
  if (role?.teamId !== teamId) throw new ServiceError('NOT_FOUND', 'No such role.');
  return role;
}

/** Whether the person's role in the team holds all of this. */
export function holds(
  reader: Reader,
  teamId: string,
  userId: string,
  needed: readonly Capability[] | 'owner',
): boolean {
  const member = reader.get(tables.members, [teamId, userId]);
  const role = member && reader.get(tables.roles, member.roleId);
  if (role?.teamId !== teamId) return false;
  if (role.builtIn === 'owner') return true;
  return needed !== 'owner' && needed.every((one) => role.capabilities.includes(one));
}

/** What a person has to hold to give a role or to take it away. */
export function worthOf(role: Readonly<RoleRecord>): readonly Capability[] | 'owner' {
  return role.builtIn === 'owner' ? 'owner' : role.capabilities;
}

export function mustHold(
  reader: Reader,
  teamId: string,
  userId: string,
  needed: readonly Capability[] | 'owner',
): void {
  if (holds(reader, teamId, userId, needed)) return;
  throw new ServiceError('FORBIDDEN', 'This needs more than you hold in the team.');
}

/** CONFLICT where taking the role from this person would leave the team without an owner. */
export function mustNotBeLastOwner(reader: Reader, role: Readonly<RoleRecord>): void {
  if (role.builtIn !== 'owner') return;
  if (reader.count(tables.members, 'role', [role.id]) > 1) return;
  throw new ServiceError('CONFLICT', 'A team keeps at least one owner: name another one first.');
}
