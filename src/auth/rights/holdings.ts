/**
 * Owns what a person holds at a place: the role in its team ∪ the grants on its folder and on the
 * folders above it.
 *
 * 1. A person whose role has a capability sees all apps and folders of the team. A person whose role
 *    has none sees only those where a grant gives something.
 * 2. A role of another team, a deleted role and a grant of another team give nothing.
 */
import type { Capability } from '../../lib/capabilities.ts';
import type { Reader } from '../../store/reader-and-journal.ts';
import type { FolderGrantRecord, RoleRecord } from '../../store/records/records.ts';
import { tables } from '../../store/records/tables.ts';
import { type Place, someFolderAt } from './scope.ts';

/** The person's role in the team; null without one. */
export function roleIn(
  reader: Reader,
  teamId: string,
  userId: string,
): Readonly<RoleRecord> | null {
  const member = reader.get(tables.members, [teamId, userId]);
  const role = member && reader.get(tables.roles, member.roleId);
  return role?.teamId === teamId ? role : null;
}

/** Whether a role shows the apps and folders of its team. */
export function showsTeam(role: Readonly<RoleRecord> | null): boolean {
  return role !== null && (role.builtIn === 'owner' || role.capabilities.length > 0);
}

export function personHolds(
  reader: Reader,
  userId: string,
  place: Place,
  capability: Capability,
): boolean {
  if (roleHolds(roleIn(reader, place.teamId, userId), capability)) return true;
  return someGrantAt(reader, userId, place, (grant) => grant.capabilities.includes(capability));
}

/** Whether a member of the team sees an app or a folder there. */
export function personSees(reader: Reader, userId: string, place: Place): boolean {
  if (showsTeam(roleIn(reader, place.teamId, userId))) return true;
  return someGrantAt(reader, userId, place, () => true);
}

function roleHolds(role: Readonly<RoleRecord> | null, capability: Capability): boolean {
  // An owner also holds capabilities that later releases add.
  return role !== null && (role.builtIn === 'owner' || role.capabilities.includes(capability));
}

function someGrantAt(
  reader: Reader,
  userId: string,
  place: Place,
  test: (grant: Readonly<FolderGrantRecord>) => boolean,
): boolean {
  if (place.folderId === null) return false;
  // Only members hold grants. A person who has left holds nothing, whatever records are left.
  if (!reader.get(tables.members, [place.teamId, userId])) return false;
  return someFolderAt(reader, place, (folderId) => {
    const grant = reader.get(tables.folderGrants, [folderId, userId]);
    return grant?.teamId === place.teamId && test(grant);
  });
}
