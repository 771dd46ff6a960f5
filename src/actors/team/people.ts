/**
 * Owns a team's members and roles.
 *
 * 1. A team keeps at least one owner, whoever leaves or is demoted at the same time.
 * 2. Who is removed takes along what acts for them here: tokens made for this team, grants, and
 *    the invites they gave.
 * 3. Built-in roles never change; a role somebody has, or is invited to, stays.
 */
import { capabilities, type Capability } from '../../lib/capabilities.ts';
import type { Clock } from '../../lib/clock.ts';
import { ServiceError } from '../../lib/errors.ts';
import { newId } from '../../lib/ids.ts';
import { isName } from '../../lib/names.ts';
import type { Reader } from '../../store/reader-and-journal.ts';
import type { MemberRecord, RoleRecord, TokenRecord } from '../../store/records/records.ts';
import { type Change, insert, put, remove, take } from '../../store/records/table.ts';
import { tables } from '../../store/records/tables.ts';
import type { Actor, ActorContext } from '../runtime/actor.ts';
import { inviteEnd } from './invites.ts';
import { mustHold, mustNotBeLastOwner, roleOf, teamOf, worthOf } from './power.ts';
import type { TeamProtocol } from './protocol.ts';

export interface PeopleOptions {
  reader: Reader;
  clock: Clock;
  /** Roles a team may have besides the built-in ones; default 100. */
  rolesMax?: number;
}

type Handlers = Actor<TeamProtocol>['handlers'];
type Context = ActorContext<TeamProtocol>;

export function memberHandlers(
  { reader }: PeopleOptions,
  context: Context,
): Pick<Handlers, 'member-update' | 'member-remove'> {
  const teamId = context.ref.id;
  const standing = (userId: string): { member: Readonly<MemberRecord>; role: RoleRecord } => {
    const member = reader.get(tables.members, [teamId, userId]);
    if (!member) throw new ServiceError('NOT_FOUND', 'No such member.');
    return { member, role: roleOf(reader, teamId, member.roleId) };
  };
  return {
    'member-update': async ({ userId, roleId, by }) => {
      mustHold(reader, teamId, by, ['manage_members']);
      const { member, role } = standing(userId);
      const next = roleOf(reader, teamId, roleId);
      if (next.id === role.id) return member;
      mustHold(reader, teamId, by, worthOf(role));
      mustHold(reader, teamId, by, worthOf(next));
      mustNotBeLastOwner(reader, role);
      const changed = { ...member, roleId: next.id };
      await context.commit([put(tables.members, changed)]);
      return changed;
    },
    'member-remove': async ({ userId, by }) => {
      mustHold(reader, teamId, by, ['manage_members']);
      const { role } = standing(userId);
      mustHold(reader, teamId, by, worthOf(role));
      mustNotBeLastOwner(reader, role);
      await context.commit([
        take(tables.members, [teamId, userId]),
        ...belongings(reader, context, userId),
      ]);
      return true;
    },
  };
}

export function roleHandlers(
  { reader, clock, rolesMax = 100 }: PeopleOptions,
  context: Context,
): Pick<Handlers, 'role-create' | 'role-update' | 'role-delete'> {
  const teamId = context.ref.id;
  const ownRole = (roleId: string): Readonly<RoleRecord> => {
    const role = roleOf(reader, teamId, roleId);
    if (role.builtIn === null) return role;
    throw new ServiceError('CONFLICT', 'A built-in role cannot be changed; make one of your own.');
  };
  return {
    'role-create': async ({ name, capabilities: held, by }) => {
      teamOf(reader, teamId);
      mustHold(reader, teamId, by, [...held, 'manage_roles']);
      if (reader.count(tables.roles, 'team', [teamId]) >= rolesMax + 3) {
        throw new ServiceError('CONFLICT', `A team has at most ${String(rolesMax)} own roles.`);
      }
      const role: RoleRecord = {
        id: newId('rol', clock.now()),
        teamId,
        name: roleName(name),
        capabilities: inOrder(held),
        builtIn: null,
      };
      await context.commit([insert(tables.roles, role)]);
      return role;
    },
    'role-update': async ({ roleId, name, capabilities: held, by }) => {
      const role = ownRole(roleId);
      mustHold(reader, teamId, by, ['manage_roles']);
      // What is in the role and what will be: nobody cuts the rights of those who hold more.
      if (held !== null) mustHold(reader, teamId, by, [...role.capabilities, ...held]);
      const changed: RoleRecord = {
        ...role,
        name: name === null ? role.name : roleName(name),
        capabilities: held === null ? role.capabilities : inOrder(held),
      };
      await context.commit([put(tables.roles, changed)]);
      return changed;
    },
    'role-delete': async ({ roleId }) => {
      const role = ownRole(roleId);
      const inUse =
        reader.list(tables.members, 'role', [role.id], { limit: 1 }).length > 0 ||
        reader.list(tables.invites, 'role', [role.id], { limit: 1 }).length > 0;
      if (inUse) {
        throw new ServiceError('CONFLICT', 'Somebody has this role, or is invited to it.');
      }
      await context.commit([take(tables.roles, role.id)]);
      return true;
    },
  };
}

/** What acts for a person in the team and goes with them. */
function belongings(reader: Reader, context: Context, userId: string): Change[] {
  const teamId = context.ref.id;
  const all = { limit: Infinity };
  const elsewhere = reader.list(tables.members, 'user', [userId]).length > 1;
  return [
    ...reader
      .list(tables.folderGrants, 'member', [teamId, userId], all)
      .map((grant) => remove(tables.folderGrants, [grant.folderId, grant.userId])),
    ...reader
      .list(tables.tokens, 'user', [userId], all)
      .filter((token) => token.homeTeamId === teamId && !(elsewhere && reachesOut(reader, token)))
      .map((token) => remove(tables.tokens, token.id)),
    ...reader
      .list(tables.invites, 'team', [teamId], all)
      .filter((invite) => invite.invitedBy === userId)
      .flatMap((invite) => inviteEnd(context, invite)),
  ];
}

/** Whether a token is good for another team than the one it was made in. */
function reachesOut(reader: Reader, token: Readonly<TokenRecord>): boolean {
  const home = token.homeTeamId;
  return (
    token.allTeams ||
    token.teamIds.some((id) => id !== home) ||
    token.folderIds.some((id) => reader.get(tables.folders, id)?.teamId !== home) ||
    token.appIds.some((id) => reader.get(tables.apps, id)?.teamId !== home) ||
    token.databaseIds.some((id) => reader.get(tables.databases, id)?.teamId !== home)
  );
}

function inOrder(held: readonly Capability[]): Capability[] {
  return capabilities.filter((capability) => held.includes(capability));
}

function roleName(given: string): string {
  const name = given.trim();
  if (!isName(name)) {
    throw new ServiceError(
      'BAD_USER_INPUT',
      'A role name has 1 to 100 visible characters, on one line.',
    );
  }
  return name;
}
