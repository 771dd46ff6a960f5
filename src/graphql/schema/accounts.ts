/** Owns people, teams, roles and sign-in in the schema. */
import type { Accounts } from '../../auth/sign-in/accounts.ts';
import type { Origin, SignIn } from '../../auth/sign-in/sign-in.ts';
import { needsSetup, type User } from '../../auth/callers/account-reads.ts';
import { authorize, capabilitiesIn, teamIdsOf } from '../../auth/rights/authorize.ts';
import { withoutTwoFactor, type WithoutTwoFactor } from '../../auth/rights/two-factor-policy.ts';
import type { Capability } from '../../lib/capabilities.ts';
import { ServiceError } from '../../lib/errors.ts';
import type {
  MemberRecord,
  RoleRecord,
  TeamRecord,
  TokenRecord,
} from '../../store/records/records.ts';
import { tables } from '../../store/records/tables.ts';
import { httpSide, requirePerson, requireSignedIn, requireTeam, writeSide } from '../access.ts';
import type { GraphContext, HttpSide } from '../context.ts';
import { builder, CapabilityType } from './builder.ts';
import { needs } from './needs.ts';

const ViewerType = builder.objectRef<User>('Viewer').implement({
  fields: (t) => ({
    id: t.exposeID('id'),
    email: t.exposeString('email'),
    name: t.exposeString('name'),
    isInstanceAdmin: t.exposeBoolean('isInstanceAdmin'),
    twoFactorEnabled: t.exposeBoolean('twoFactorEnabled'),
  }),
});

export const TeamType = builder.objectRef<Readonly<TeamRecord>>('Team').implement({
  fields: (t) => ({
    id: t.exposeID('id'),
    slug: t.exposeString('slug'),
    name: t.exposeString('name'),
    requireTwoFactor: t.exposeBoolean('requireTwoFactor'),
    twoFactorGraceUntil: t.expose('twoFactorGraceUntilMs', {
      type: 'DateTime',
      nullable: true,
      description: 'Until when people without it may go on where two-factor is required.',
    }),
    capabilities: t.field({
      type: [CapabilityType],
      description: 'What the caller holds in the team.',
      resolve: (record, _args, { read, principal }) =>
        capabilitiesIn(read.reader, principal, record.id),
    }),
  }),
});

export const RoleType = builder.objectRef<Readonly<RoleRecord>>('Role').implement({
  fields: (t) => ({
    id: t.exposeID('id'),
    name: t.exposeString('name'),
    capabilities: t.expose('capabilities', { type: [CapabilityType] }),
    builtIn: t.boolean({ resolve: (record) => record.builtIn !== null }),
  }),
});

export const MemberType = builder.objectRef<Readonly<MemberRecord>>('Member').implement({
  fields: (t) => ({
    userId: t.exposeID('userId'),
    email: t.string({ resolve: (member, _args, { read }) => userOf(read, member).email }),
    name: t.string({ resolve: (member, _args, { read }) => userOf(read, member).name }),
    role: t.field({
      type: RoleType,
      resolve: ({ roleId }, _args, { read }) => {
        const record = read.reader.get(tables.roles, roleId);
        if (!record) throw new Error('A member has a role that does not exist.');
        return record;
      },
    }),
  }),
});

export const AuthPayloadType = builder.objectRef<SignIn>('AuthPayload').implement({
  fields: (t) => ({
    requiresTwoFactor: t.exposeBoolean('requiresTwoFactor'),
    viewer: t.field({
      type: ViewerType,
      nullable: true,
      resolve: (signIn) => (signIn.requiresTwoFactor ? null : signIn.user),
    }),
  }),
});

const AffectedTokenType = builder.objectRef<Readonly<TokenRecord>>('AffectedToken').implement({
  fields: (t) => ({
    id: t.exposeID('id'),
    name: t.exposeString('name'),
    prefix: t.exposeString('prefix'),
  }),
});

const WithoutTwoFactorType = builder.objectRef<WithoutTwoFactor>('WithoutTwoFactor').implement({
  fields: (t) => ({
    member: t.expose('member', { type: MemberType }),
    tokens: t.expose('tokens', {
      type: [AffectedTokenType],
      description:
        'Those by which programs act in the team as this person; deploy hooks are called with them.',
    }),
  }),
});

/** The team that the field is of, rather than the acting one. */
const thisTeam = {
  args: {},
  find: (
    { read, principal }: GraphContext,
    need: Capability,
    _args: object,
    { id: teamId }: Readonly<TeamRecord>,
  ) => {
    authorize(read.reader, principal, need, { kind: 'team', teamId });
    return teamId;
  },
};

builder.objectField(TeamType, 'withoutTwoFactor', (t) =>
  t.field({
    type: [WithoutTwoFactorType],
    nullable: true,
    ...needs('manage_team', thisTeam, {
      description: 'The members whom requiring two-factor keeps out, or would.',
      resolve: (teamId, _args, { read }) => withoutTwoFactor(read.reader, teamId),
    }),
  }),
);

builder.queryFields((t) => ({
  needsSetup: t.boolean({
    description: 'True until `completeSetup`; needs no sign-in.',
    resolve: (_root, _args, { read }) => needsSetup(read.reader),
  }),
  me: t.field({
    type: ViewerType,
    nullable: true,
    resolve: (_root, _args, { read, principal }) =>
      principal.kind === 'anonymous' ? null : read.accounts.user(principal.userId),
  }),
  viewerTeam: t.field({
    type: TeamType,
    nullable: true,
    description: 'The acting team.',
    resolve: (_root, _args, context) => {
      if (requireSignedIn(context).teamId === null) return null;
      return context.read.reader.get(tables.teams, requireTeam(context, null));
    },
  }),
  myTeams: t.field({
    type: [TeamType],
    resolve: (_root, _args, context) => {
      const { reader } = context.read;
      const principal = requireSignedIn(context);
      const ids = teamIdsOf(reader, principal);
      const teams = ids.flatMap((id) => reader.get(tables.teams, id) ?? []);
      // Over MCP only those that let it in.
      return principal.confined ? teams.filter(({ mcpEnabled }) => mcpEnabled) : teams;
    },
  }),
  roles: t.field({
    type: [RoleType],
    resolve: (_root, _args, context) =>
      context.read.reader.list(tables.roles, 'team', [requireTeam(context, null)]),
  }),
  members: t.field({
    type: [MemberType],
    resolve: (_root, _args, context) =>
      context.read.reader.list(tables.members, 'team', [requireTeam(context, null)]),
  }),
}));

function userOf(read: GraphContext['read'], member: Readonly<MemberRecord>): User {
  const user = read.accounts.user(member.userId);
  if (!user) throw new Error('A member is no account.');
  return user;
}

builder.mutationFields((t) => ({
  completeSetup: t.field({
    type: AuthPayloadType,
    description: 'Once, on an empty instance. Off loopback it needs the code printed at start.',
    args: {
      email: t.arg.string({ required: true }),
      password: t.arg.string({ required: true }),
      name: t.arg.string({ required: true }),
      teamName: t.arg.string({ required: true }),
      setupCode: t.arg.string(),
    },
    resolve: (_root, args, context) => {
      const input = { ...args, setupCode: args.setupCode ?? null };
      return signIn(context, (accounts, origin) => accounts.completeSetup(input, origin));
    },
  }),
  login: t.field({
    type: AuthPayloadType,
    args: {
      email: t.arg.string({ required: true }),
      password: t.arg.string({ required: true }),
    },
    resolve: (_root, args, context) =>
      signIn(context, (accounts, origin) => accounts.login(args, origin)),
  }),
  logout: t.boolean({
    description: 'Ends the session of the cookie; true also when there is none.',
    resolve: async (_root, _args, context) => {
      const http = httpSide(context);
      if (context.principal.kind === 'token') {
        throw new ServiceError('FORBIDDEN', 'An API token has no session; revoke it instead.');
      }
      const accounts = await writeSide(context).accounts();
      http.setCookies(await accounts.logout(context.principal, http.origin));
      return true;
    },
  }),
  switchTeam: t.field({
    type: TeamType,
    description: "Sets the session's current team.",
    args: { teamId: t.arg.id({ required: true }) },
    resolve: async (_root, { teamId }, context) => {
      const principal = requirePerson(context);
      return (await writeSide(context).accounts()).switchTeam(principal, teamId);
    },
  }),
}));

/** Runs what may end in a session: sets its cookies, and answers 429 as such. */
export async function signIn(
  context: GraphContext,
  attempt: (accounts: Accounts, origin: Origin) => Promise<SignIn>,
): Promise<SignIn> {
  const http = httpSide(context);
  const accounts = await writeSide(context).accounts();
  const signedIn = await limited(http, () => attempt(accounts, http.origin));
  http.setCookies(signedIn.cookies);
  return signedIn;
}

/** Work that tries a secret: when it was tried too often, the whole answer is 429. */
export async function limited<T>(http: HttpSide, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof ServiceError && error.code === 'RATE_LIMITED') {
      http.tooMany(error.retryAfterS ?? 1);
    }
    throw error;
  }
}
