/**
 * Owns a team's members and roles.
 *
 * 1. A team keeps at least one owner, whoever leaves or is demoted at the same time.
 * 2. Removing a member also removes what acts for them in this team: tokens made for it, grants, and the
 *    invites they gave.
 * 3. Built-in roles never change. A role that a member or an invite has cannot be deleted.
 */
import { inOrder } from '../../lib/capabilities.ts';
import { ServiceError } from '../../lib/errors.ts';
import { newId } from '../../lib/ids.ts';
import { checkedName } from '../../lib/names.ts';
import type { Reader } from '../../store/reader-and-journal.ts';
import type { MemberRecord, RoleRecord, TokenRecord } from '../../store/records/records.ts';
import { type Change, insert, put, removeAll, take } from '../../store/records/table.ts';
import { tables } from '../../store/records/tables.ts';
import { inviteEnd } from './invites.ts';
import type { TeamHandlers } from './protocol.ts';
import { type Team, worthOf } from './team.ts';

/** Besides the built-in ones. */
const rolesMax = 100;

export function memberHandlers(team: Team) {
  const { id: teamId, reader, context } = team;
  const standing = (userId: string): { member: Readonly<MemberRecord>; role: RoleRecord } => {
    const member = reader.get(tables.members, [teamId, userId]);
    if (!member) throw new ServiceError('NOT_FOUND', 'No such member.');
    return { member, role: team.role(member.roleId) };
  };
  return {
    'member-update': async ({ userId, roleId, by }) => {
      team.mustHold(by, ['manage_members']);
      const { member, role } = standing(userId);
      const next = team.role(roleId);
      if (next.id === role.id) return member;
      team.mustHold(by, worthOf(role));
      team.mustHold(by, worthOf(next));
      team.mustNotBeLastOwner(role);
      const changed = { ...member, roleId: next.id };
      await context.commit([put(tables.members, changed)]);
      return changed;
    },
    'member-remove': async ({ userId, by }) => {
      team.mustHold(by, ['manage_members']);
      const { role } = standing(userId);
      team.mustHold(by, worthOf(role));
      team.mustNotBeLastOwner(role);
      await context.commit([take(tables.members, [teamId, userId]), ...belongings(team, userId)]);
      return true;
    },
  } satisfies TeamHandlers;
}

export function roleHandlers(team: Team) {
  const { id: teamId, reader, context } = team;
  const ownRole = (roleId: string): Readonly<RoleRecord> => {
    const role = team.role(roleId);
    if (role.builtIn === null) return role;
    throw new ServiceError('CONFLICT', 'A built-in role cannot be changed; make one of your own.');
  };
  return {
    'role-create': async ({ name, capabilities: held, by }) => {
      team.require();
      team.mustHold(by, [...held, 'manage_roles']);
      if (reader.count(tables.roles, 'team', [teamId]) >= rolesMax + 3) {
        throw new ServiceError('CONFLICT', `A team has at most ${String(rolesMax)} own roles.`);
      }
      const role: RoleRecord = {
        id: newId('rol', team.clock.now()),
        teamId,
        name: checkedName(name, 'A role name'),
        capabilities: inOrder(held),
        builtIn: null,
      };
      await context.commit([insert(tables.roles, role)]);
      return role;
    },
    'role-update': async ({ roleId, name, capabilities: held, by }) => {
      const role = ownRole(roleId);
      team.mustHold(by, ['manage_roles']);
      // The caller must hold both the old and the new rights, so that nobody cuts the rights of people who
      // hold more.
      if (held !== null) team.mustHold(by, [...role.capabilities, ...held]);
      const changed: RoleRecord = {
        ...role,
        name: name === null ? role.name : checkedName(name, 'A role name'),
        capabilities: held === null ? role.capabilities : inOrder(held),
      };
      await context.commit([put(tables.roles, changed)]);
      return changed;
    },
    'role-delete': async ({ roleId }) => {
      const role = ownRole(roleId);
      const inUse =
        reader.count(tables.members, 'role', [role.id]) > 0 ||
        reader.count(tables.invites, 'role', [role.id]) > 0;
      if (inUse) {
        throw new ServiceError('CONFLICT', 'Somebody has this role, or is invited to it.');
      }
      await context.commit([take(tables.roles, role.id)]);
      return true;
    },
  } satisfies TeamHandlers;
}

function belongings({ id: teamId, reader, context }: Team, userId: string): Change[] {
  const all = { limit: Infinity };
  const elsewhere = reader.count(tables.members, 'user', [userId]) > 1;
  const tokens = reader
    .list(tables.tokens, 'user', [userId], all)
    .filter((token) => token.homeTeamId === teamId && !(elsewhere && reachesOut(reader, token)));
  return [
    ...removeAll(
      tables.folderGrants,
      reader.list(tables.folderGrants, 'member', [teamId, userId], all),
    ),
    ...removeAll(tables.tokens, tokens),
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
