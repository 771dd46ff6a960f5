/**
 * Owns the rule against escalation: nobody gives more than their own effective capabilities and scope,
 * whether by an invite, a role, a folder grant, a token or a consent.
 *
 * 1. What is given at a place has to be held at that place. So a grant on one folder gives nothing
 *    outside it, and a token gives nothing that it does not have.
 * 2. The role of owner is more than its capabilities: it also holds what later releases add. So only an
 *    owner in person gives or takes it.
 * 3. A member is changed or removed only by somebody who could have given the role that the member has.
 */
import type { Capability } from '../../lib/capabilities.ts';
import { ServiceError } from '../../lib/errors.ts';
import type { Reader } from '../../store/reader-and-journal.ts';
import type { RoleRecord } from '../../store/records/records.ts';
import { tables } from '../../store/records/tables.ts';
import { authorize, placeOf, type Resource } from './authorize.ts';
import { roleIn } from './holdings.ts';
import type { Principal, SignedIn } from '../callers/principal.ts';

/**
 * Returns when the principal holds all of `given` at `place`, which is the whole team by default. Else
 * it throws FORBIDDEN with the first missing capability, or NOT_FOUND for a place that the principal
 * does not see.
 */
export function assertMayGive(
  reader: Reader,
  principal: Principal,
  teamId: string,
  given: readonly Capability[],
  place: Resource = { kind: 'team', teamId },
): asserts principal is SignedIn {
  const within = place.kind === 'instance' ? undefined : placeOf(place);
  if (within?.teamId !== teamId) throw new ServiceError('NOT_FOUND', `No such ${place.kind}.`);
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

/**
 * NOT_FOUND when the person is not in the team, FORBIDDEN when the caller could not give the person's
 * role.
 */
export function assertMayChangeMember(
  reader: Reader,
  principal: Principal,
  teamId: string,
  userId: string,
): asserts principal is SignedIn {
  authorize(reader, principal, null, { kind: 'team', teamId });
  if (!reader.get(tables.members, [teamId, userId])) {
    throw new ServiceError('NOT_FOUND', 'No such member.');
  }
  const role = roleIn(reader, teamId, userId);
  if (role) assertMayGiveRole(reader, principal, role);
}

/**
 * FORBIDDEN unless the principal is an owner of the team, in person. NOT_FOUND for a team that it does
 * not see.
 */
export function assertOwner(
  reader: Reader,
  principal: Principal,
  teamId: string,
): asserts principal is SignedIn {
  authorize(reader, principal, null, { kind: 'team', teamId });
  const role = roleIn(reader, teamId, principal.userId);
  if (principal.kind === 'person' && role?.builtIn === 'owner') return;
  throw new ServiceError('FORBIDDEN', 'This needs an owner of the team, signed in.');
}
