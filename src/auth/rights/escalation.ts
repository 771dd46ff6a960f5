/**
 * Owns the rule against escalation: nobody gives more than the own effective capabilities and
 * scope, by whichever path (an invite, a role, a folder grant, a token, a consent).
 *
 * 1. What is given at a place has to be held at that very place: a grant in one folder gives
 *    nothing to hand on outside it, and a token gives nothing it does not carry.
 * 2. The role of owner is more than its capabilities (it holds what later releases add), so only an
 *    owner in person gives or takes it.
 * 3. Who is stronger is out of reach: a member is changed or removed only by somebody who could
 *    have given the role that the member has.
 */
import type { Capability } from '../../lib/capabilities.ts';
import { ServiceError } from '../../lib/errors.ts';
import type { Reader } from '../../store/reader-and-journal.ts';
import type { RoleRecord } from '../../store/records/records.ts';
import { tables } from '../../store/records/tables.ts';
import { authorize } from './authorize.ts';
import type { Resource } from './authorizer.ts';
import type { Principal, SignedIn } from '../callers/principal.ts';

/**
 * Returns when the principal holds all of `given` at `place`, by default the whole team; else
 * throws FORBIDDEN with the first capability that is missing, NOT_FOUND for a place it does not see.
 */
export function assertMayGive(
  reader: Reader,
  principal: Principal,
  teamId: string,
  given: readonly Capability[],
  place: Resource = { kind: 'team', teamId },
): asserts principal is SignedIn {
  if (teamOf(place) !== teamId) throw new ServiceError('NOT_FOUND', `No such ${place.kind}.`);
  authorize(reader, principal, null, place);
  for (const capability of given) authorize(reader, principal, capability, place);
}

/** As `assertMayGive`, for a whole role in its team. */
export function assertMayGiveRole(
  reader: Reader,
  principal: Principal,
  role: Readonly<RoleRecord>,
): asserts principal is SignedIn {
  assertMayGive(reader, principal, role.teamId, role.builtIn === 'owner' ? [] : role.capabilities);
  if (role.builtIn === 'owner') assertOwner(reader, principal, role.teamId);
}

/** NOT_FOUND when the person is not in the team, FORBIDDEN when its role is beyond the caller. */
export function assertMayChangeMember(
  reader: Reader,
  principal: Principal,
  teamId: string,
  userId: string,
): asserts principal is SignedIn {
  authorize(reader, principal, null, { kind: 'team', teamId });
  const member = reader.get(tables.members, [teamId, userId]);
  if (!member) throw new ServiceError('NOT_FOUND', 'No such member.');
  const role = reader.get(tables.roles, member.roleId);
  if (role?.teamId === teamId) assertMayGiveRole(reader, principal, role);
}

/** FORBIDDEN unless the principal is an owner of the team, in person; NOT_FOUND for others' teams. */
export function assertOwner(
  reader: Reader,
  principal: Principal,
  teamId: string,
): asserts principal is SignedIn {
  authorize(reader, principal, null, { kind: 'team', teamId });
  const member = reader.get(tables.members, [teamId, principal.userId]);
  const role = member && reader.get(tables.roles, member.roleId);
  if (principal.kind === 'person' && role?.teamId === teamId && role.builtIn === 'owner') return;
  throw new ServiceError('FORBIDDEN', 'This needs an owner of the team, signed in.');
}

function teamOf(place: Resource): string | null {
  switch (place.kind) {
    case 'team':
      return place.teamId;
    case 'folder':
      return place.folder.teamId;
    case 'app':
      return place.app.teamId;
    case 'database':
      return place.database.teamId;
    case 'instance':
      return null;
  }
}
