/** Owns teams, their people, roles and invites in the schema. */
import { type GraphQLResolveInfo, Kind } from 'graphql';
import { graceDaysDefault } from '../../actors/team/team-life.ts';
import * as teams from '../../auth/sign-in/teams.ts';
import type { InviteRecord } from '../../store/records/records.ts';
import { tables } from '../../store/records/tables.ts';
import { requirePerson, requireSignedIn, writeSide } from '../access.ts';
import type { GraphContext } from '../context.ts';
import { type addAccounts, signIn } from './accounts.ts';
import { type Builder, secret, type Shared } from './builder.ts';
import { publicUrlOf } from './instance.ts';

interface Types {
  shared: Shared;
  accounts: ReturnType<typeof addAccounts>;
}

export function addTeams(builder: Builder, types: Types): void {
  addTeamChanges(builder, types);
  addMemberChanges(builder, types);
  addRoleChanges(builder, types);
  addInvites(builder, types);
}

function addTeamChanges(builder: Builder, { accounts: { team } }: Types): void {
  builder.mutationFields((t) => ({
    createTeam: t.field({
      type: team,
      description: 'Makes a team that the caller owns.',
      args: { name: t.arg.string({ required: true }) },
      resolve: (_root, { name }, context) =>
        teams.createTeam(sideOf(context), requirePerson(context), name),
    }),
    updateTeam: t.field({
      type: team,
      description: 'manage_team. Changes the acting team.',
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
      resolve: (_root, { name, requireTwoFactor, twoFactorGraceDays }, context, info) =>
        teams.updateTeam(sideOf(context), requireSignedIn(context), {
          name: name ?? null,
          requireTwoFactor: requireTwoFactor ?? null,
          twoFactorGraceDays: isGiven(info, 'twoFactorGraceDays')
            ? (twoFactorGraceDays ?? null)
            : null,
        }),
    }),
    deleteTeam: t.boolean({
      description: 'An owner. Refused while it has apps or databases, also in trash.',
      args: { id: t.arg.id({ required: true }) },
      resolve: (_root, { id }, context) =>
        teams.deleteTeam(sideOf(context), requireSignedIn(context), id),
    }),
  }));
}

/** Whether a caller gave the argument, rather than that it has its default. */
function isGiven({ fieldNodes, variableValues }: GraphQLResolveInfo, name: string): boolean {
  return fieldNodes.some((node) =>
    node.arguments?.some(({ name: { value: found }, value }) => {
      if (found !== name) return false;
      return value.kind !== Kind.VARIABLE || value.name.value in variableValues;
    }),
  );
}

function addMemberChanges(builder: Builder, { accounts: { member } }: Types): void {
  builder.mutationFields((t) => ({
    updateMember: t.field({
      type: member,
      description: 'manage_members, and everything that the old and the new role hold.',
      args: { userId: t.arg.id({ required: true }), roleId: t.arg.id({ required: true }) },
      resolve: (_root, args, context) =>
        teams.updateMember(sideOf(context), requireSignedIn(context), args),
    }),
    removeMember: t.boolean({
      description: 'manage_members, and everything that the role holds.',
      args: { userId: t.arg.id({ required: true }) },
      resolve: (_root, { userId }, context) =>
        teams.removeMember(sideOf(context), requireSignedIn(context), userId),
    }),
  }));
}

function addRoleChanges(builder: Builder, { shared, accounts: { role } }: Types): void {
  builder.mutationFields((t) => ({
    createRole: t.field({
      type: role,
      description: 'manage_roles, and every capability of the role.',
      args: {
        name: t.arg.string({ required: true }),
        capabilities: t.arg({ type: [shared.capability], required: true }),
      },
      resolve: (_root, args, context) =>
        teams.createRole(sideOf(context), requireSignedIn(context), args),
    }),
    updateRole: t.field({
      type: role,
      description: 'manage_roles, and every capability it held or will hold.',
      args: {
        id: t.arg.id({ required: true }),
        name: t.arg.string(),
        capabilities: t.arg({ type: [shared.capability] }),
      },
      resolve: (_root, { id, name, capabilities }, context) =>
        teams.updateRole(sideOf(context), requireSignedIn(context), {
          roleId: id,
          name: name ?? null,
          capabilities: capabilities ?? null,
        }),
    }),
    deleteRole: t.boolean({
      description: 'manage_roles. Refused while somebody has it or is invited to it.',
      args: { id: t.arg.id({ required: true }) },
      resolve: (_root, { id }, context) =>
        teams.deleteRole(sideOf(context), requireSignedIn(context), id),
    }),
  }));
}

function addInvites(builder: Builder, { accounts: { role, authPayload } }: Types): void {
  const invite = builder.objectRef<Readonly<InviteRecord>>('Invite').implement({
    fields: (t) => ({
      id: t.exposeID('id'),
      email: t.exposeString('email'),
      role: t.field({
        type: role,
        resolve: (record, _args, { read }) => {
          const found = read.reader.get(tables.roles, record.roleId);
          if (!found) throw new Error('An invite is to a role that does not exist.');
          return found;
        },
      }),
      expiresAt: t.field({ type: 'DateTime', resolve: (record) => record.expiresAtMs }),
    }),
  });
  builder.queryFields((t) => ({
    invites: t.field({
      type: [invite],
      description: 'manage_members. The open invites of the acting team.',
      resolve: (_root, _args, context) =>
        teams.listInvites(context.read.reader, requireSignedIn(context)),
    }),
  }));
  builder.mutationFields((t) => ({
    inviteMember: t.string({
      ...secret,
      description: 'manage_members. A link for one person, good for 7 days, shown this once.',
      args: { email: t.arg.string({ required: true }), roleId: t.arg.id({ required: true }) },
      resolve: async (_root, args, context) => {
        const principal = requireSignedIn(context);
        const accounts = await writeSide(context).accounts();
        const token = await accounts.inviteMember(principal, args);
        return `${publicUrlOf(context.read)}/invite/${token}`;
      },
    }),
    revokeInvite: t.boolean({
      description: 'manage_members.',
      args: { id: t.arg.id({ required: true }) },
      resolve: (_root, { id }, context) =>
        teams.revokeInvite(sideOf(context), requireSignedIn(context), id),
    }),
    acceptInvite: t.field({
      type: authPayload,
      description: 'Name and password for a new person; who is signed in joins by the token alone.',
      args: {
        token: t.arg.string({ required: true }),
        name: t.arg.string(),
        password: t.arg.string(),
      },
      resolve: (_root, { token, name, password }, context) => {
        const given = { token, name: name ?? null, password: password ?? null };
        return signIn(context, (accounts, origin) =>
          accounts.acceptInvite(context.principal, given, origin),
        );
      },
    }),
  }));
}

function sideOf(context: GraphContext) {
  return { reader: context.read.reader, actors: writeSide(context).actors };
}
