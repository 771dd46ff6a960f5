/**
 * Owns teams, their people, roles and invites in the schema. The team's actor checks the state that a
 * change needs; `escalation.ts` says what nobody may give, extend, reduce or take away.
 */
import { type GraphQLResolveInfo, Kind } from 'graphql';
import { accountActor, directory } from '../../actors/account/protocol.ts';
import { graceDaysDefault } from '../../actors/team/team-life.ts';
import { teamActor } from '../../actors/team/protocol.ts';
import {
  assertMayChangeMember,
  assertMayGive,
  assertMayGiveRole,
  assertOwner,
} from '../../auth/rights/escalation.ts';
import { updateTeam } from '../../auth/rights/two-factor-policy.ts';
import { ServiceError } from '../../lib/errors.ts';
import { newId } from '../../lib/ids.ts';
import type { Reader } from '../../store/reader-and-journal.ts';
import type { InviteRecord, RoleRecord } from '../../store/records/records.ts';
import { tables } from '../../store/records/tables.ts';
import { askActor, requirePerson, requireSignedIn, writeSide } from '../access.ts';
import { AuthPayloadType, MemberType, RoleType, signIn, TeamType } from './accounts.ts';
import { builder, CapabilityType, secret } from './builder.ts';
import { publicUrlOf } from './instance.ts';
import { actingTeam, needs } from './needs.ts';

builder.mutationFields((t) => ({
  createTeam: t.field({
    type: TeamType,
    description: 'Makes a team that the caller owns.',
    args: { name: t.arg.string({ required: true }) },
    resolve: (_root, { name }, context) => {
      // People make teams: a token's power never grows by a team of its own.
      const ownerId = requirePerson(context).userId;
      const message = { type: 'team-create', teamId: newId('team'), ownerId, name } as const;
      return askActor(context, accountActor.at(directory), message);
    },
  }),
  updateTeam: t.field({
    type: TeamType,
    ...needs('manage_team', actingTeam, {
      description: 'Changes the acting team.',
      args: {
        name: t.arg.string(),
        requireTwoFactor: t.arg.boolean({
          description:
            'To require it, one has it. `withoutTwoFactor` of the answer says who lacks it.',
        }),
        twoFactorGraceDays: t.arg.int({
          defaultValue: graceDaysDefault,
          description:
            'How long from now people without it, and their tokens, may go on: 0 to 90. Where it is required already, only days that are named change anything.',
        }),
      },
      resolve: (teamId, { name = null, requireTwoFactor = null, ...given }, context, info) => {
        const days = isGiven(info, 'twoFactorGraceDays') ? given.twoFactorGraceDays : null;
        const options = { reader: context.read.reader, actors: writeSide(context).actors };
        const change = { name, requireTwoFactor, twoFactorGraceDays: days ?? null };
        return updateTeam(options, requireSignedIn(context), teamId, change);
      },
    }),
  }),
  deleteTeam: t.boolean({
    description: 'An owner. Refused while it has apps or databases, also in trash.',
    args: { id: t.arg.id({ required: true }) },
    resolve: (_root, { id }, context) => {
      const { principal, read } = context;
      assertOwner(read.reader, principal, id);
      return askActor(context, teamActor.at(id), { type: 'team-delete', by: principal.userId });
    },
  }),
}));

/** Whether a caller gave the argument, rather than that it has its default. */
function isGiven({ fieldNodes, variableValues }: GraphQLResolveInfo, name: string): boolean {
  return fieldNodes.some((node) =>
    node.arguments?.some(({ name: { value: found }, value }) => {
      if (found !== name) return false;
      return value.kind !== Kind.VARIABLE || value.name.value in variableValues;
    }),
  );
}

builder.mutationFields((t) => ({
  updateMember: t.field({
    type: MemberType,
    ...needs('manage_members', actingTeam, {
      description: ', and everything that the old and the new role hold.',
      args: { userId: t.arg.id({ required: true }), roleId: t.arg.id({ required: true }) },
      resolve: (teamId, change, context) => {
        const { principal, read } = context;
        assertMayChangeMember(read.reader, principal, teamId, change.userId);
        assertMayGiveRole(read.reader, principal, roleIn(read.reader, teamId, change.roleId));
        const message = { type: 'member-update', ...change, by: principal.userId } as const;
        return askActor(context, teamActor.at(teamId), message);
      },
    }),
  }),
  removeMember: t.boolean(
    needs('manage_members', actingTeam, {
      description: ', and everything that the role holds.',
      args: { userId: t.arg.id({ required: true }) },
      resolve: (teamId, { userId }, context) => {
        const { principal, read } = context;
        assertMayChangeMember(read.reader, principal, teamId, userId);
        const message = { type: 'member-remove', userId, by: principal.userId } as const;
        return askActor(context, teamActor.at(teamId), message);
      },
    }),
  ),
}));

builder.mutationFields((t) => ({
  createRole: t.field({
    type: RoleType,
    ...needs('manage_roles', actingTeam, {
      description: ', and every capability of the role.',
      args: {
        name: t.arg.string({ required: true }),
        capabilities: t.arg({ type: [CapabilityType], required: true }),
      },
      resolve: (teamId, role, context) => {
        const { principal, read } = context;
        assertMayGive(read.reader, principal, teamId, role.capabilities);
        const message = { type: 'role-create', ...role, by: principal.userId } as const;
        return askActor(context, teamActor.at(teamId), message);
      },
    }),
  }),
  updateRole: t.field({
    type: RoleType,
    ...needs('manage_roles', actingTeam, {
      description: ', and every capability it held or will hold.',
      args: {
        id: t.arg.id({ required: true }),
        name: t.arg.string(),
        capabilities: t.arg({ type: [CapabilityType] }),
      },
      resolve: (teamId, { id, name = null, capabilities = null }, context) => {
        const { read } = context;
        const { userId: by } = requireSignedIn(context);
        const role = roleIn(read.reader, teamId, id);
        if (capabilities !== null && role.builtIn === null) {
          const given = [...role.capabilities, ...capabilities];
          assertMayGive(read.reader, context.principal, teamId, given);
        }
        const message = { type: 'role-update', roleId: id, name, capabilities, by } as const;
        return askActor(context, teamActor.at(teamId), message);
      },
    }),
  }),
  deleteRole: t.boolean(
    needs('manage_roles', actingTeam, {
      description: 'Refused while somebody has it or is invited to it.',
      args: { id: t.arg.id({ required: true }) },
      resolve: (teamId, { id }, context) => {
        roleIn(context.read.reader, teamId, id);
        return askActor(context, teamActor.at(teamId), { type: 'role-delete', roleId: id });
      },
    }),
  ),
}));

function roleIn(reader: Reader, teamId: string, roleId: string): Readonly<RoleRecord> {
  const role = reader.get(tables.roles, roleId);
  if (role?.teamId !== teamId) throw new ServiceError('NOT_FOUND', 'No such role.');
  return role;
}

const InviteType = builder.objectRef<Readonly<InviteRecord>>('Invite').implement({
  fields: (t) => ({
    id: t.exposeID('id'),
    email: t.exposeString('email'),
    role: t.field({
      type: RoleType,
      resolve: ({ roleId }, _args, { read }) => {
        const found = read.reader.get(tables.roles, roleId);
        if (!found) throw new Error('An invite is to a role that does not exist.');
        return found;
      },
    }),
    expiresAt: t.expose('expiresAtMs', { type: 'DateTime' }),
  }),
});

builder.queryField('invites', (t) =>
  t.field({
    type: [InviteType],
    ...needs('manage_members', actingTeam, {
      description: 'The open invites of the acting team.',
      resolve: (teamId, _args, { read }) => read.reader.list(tables.invites, 'team', [teamId]),
    }),
  }),
);

builder.mutationFields((t) => ({
  inviteMember: t.string({
    ...secret,
    ...needs('manage_members', actingTeam, {
      description: 'A link for one person, good for 7 days, shown this once.',
      args: { email: t.arg.string({ required: true }), roleId: t.arg.id({ required: true }) },
      resolve: async (_teamId, invited, context) => {
        const principal = requireSignedIn(context);
        const accounts = await writeSide(context).accounts();
        const token = await accounts.invitations.invite(principal, invited);
        return `${publicUrlOf(context.read)}/invite/${token}`;
      },
    }),
  }),
  revokeInvite: t.boolean(
    needs('manage_members', actingTeam, {
      args: { id: t.arg.id({ required: true }) },
      resolve: (teamId, { id }, context) =>
        askActor(context, teamActor.at(teamId), { type: 'invite-revoke', inviteId: id }),
    }),
  ),
  acceptInvite: t.field({
    type: AuthPayloadType,
    description: 'Name and password for a new person; who is signed in joins by the token alone.',
    args: {
      token: t.arg.string({ required: true }),
      name: t.arg.string(),
      password: t.arg.string(),
    },
    resolve: (_root, { token, name = null, password = null }, context) =>
      signIn(context, (accounts, origin) =>
        accounts.invitations.accept(context.principal, { token, name, password }, origin),
      ),
  }),
}));
