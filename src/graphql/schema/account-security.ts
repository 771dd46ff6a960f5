/** Owns two-factor, passwords and sessions in the schema: what a person does to the own sign-in. */
import type { AuthRecord } from '../../store/records/records.ts';
import { tables } from '../../store/records/tables.ts';
import type { AccountSecurity } from '../../auth/sign-in/account-security.ts';
import type { SignedIn } from '../../auth/callers/principal.ts';
import { httpSide, requirePerson, writeSide } from '../access.ts';
import type { GraphContext, HttpSide } from '../context.ts';
import { AuthPayloadType, limited, signIn } from './accounts.ts';
import { builder, secret } from './builder.ts';

/** A session as its person sees it. */
interface OwnSession {
  id: string;
  current: boolean;
  address: string | null;
  userAgent: string | null;
  createdAtMs: number;
  lastSeenAtMs: number;
}

const UserSessionType = builder.objectRef<OwnSession>('UserSession').implement({
  fields: (t) => ({
    id: t.exposeID('id'),
    current: t.exposeBoolean('current'),
    address: t.exposeString('address', { nullable: true }),
    userAgent: t.exposeString('userAgent', { nullable: true }),
    createdAt: t.expose('createdAtMs', { type: 'DateTime' }),
    lastSeenAt: t.expose('lastSeenAtMs', { type: 'DateTime', nullable: true }),
  }),
});

const TwoFactorEnrolmentType = builder
  .objectRef<{ uri: string; recoveryCodes: string[] }>('TwoFactorEnrolment')
  .implement({
    fields: (t) => ({
      uri: t.exposeString('uri', { description: 'otpauth, for a QR code.', ...secret }),
      recoveryCodes: t.exposeStringList('recoveryCodes', {
        description: 'Shown this once; each is good once.',
        ...secret,
      }),
    }),
  });

builder.queryField('mySessions', (t) =>
  t.field({
    type: [UserSessionType],
    description: 'Where the caller is signed in, the newest first; by cookie only.',
    resolve: (_root, _args, context) => sessionsOf(context),
  }),
);

builder.mutationFields((t) => ({
  verifyTwoFactorLogin: t.field({
    type: AuthPayloadType,
    description: 'The second step of `login`, by the cookie that it set.',
    args: {
      code: t.arg.string({ required: true }),
      recoveryCode: t.arg.boolean({ defaultValue: false }),
    },
    resolve: (_root, { code, recoveryCode }, context) =>
      signIn(context, ({ security }, origin) => {
        const { cookieHeader } = httpSide(context);
        const input = { code, recoveryCode: recoveryCode === true, cookieHeader };
        return security.verifyTwoFactorLogin(input, origin);
      }),
  }),
  changePassword: t.boolean({
    description: 'Ends all other sessions.',
    args: {
      currentPassword: t.arg.string({ required: true }),
      newPassword: t.arg.string({ required: true }),
    },
    resolve: async (_root, args, context) => {
      await secured(context, (security, person, { origin }) =>
        security.changePassword(person, args, origin),
      );
      return true;
    },
  }),
  revokeSession: t.boolean({
    args: { id: t.arg.id({ required: true }) },
    resolve: async (_root, { id }, context) => {
      await secured(context, async (security, person, http) => {
        http.setCookies(await security.revokeSession(person, id, http.origin));
      });
      return true;
    },
  }),
  startTwoFactorEnrolment: t.field({
    type: TwoFactorEnrolmentType,
    description: 'In force once confirmed, which must be within 15 minutes.',
    args: { password: t.arg.string({ required: true }) },
    resolve: (_root, args, context) =>
      secured(context, (security, person, { origin }) =>
        security.startTwoFactorEnrolment(person, args, origin),
      ),
  }),
  confirmTwoFactorEnrolment: t.boolean({
    args: { code: t.arg.string({ required: true }) },
    resolve: async (_root, args, context) => {
      await secured(context, (security, person) =>
        security.confirmTwoFactorEnrolment(person, args),
      );
      return true;
    },
  }),
  disableTwoFactor: t.boolean({
    description: 'The code is one of the app, or a recovery code.',
    args: {
      password: t.arg.string({ required: true }),
      code: t.arg.string({ required: true }),
    },
    resolve: async (_root, args, context) => {
      await secured(context, (security, person, { origin }) =>
        security.disableTwoFactor(person, args, origin),
      );
      return true;
    },
  }),
}));

/** Changes to a person's sign-in come over HTTP, where they may be told to wait. */
async function secured<T>(
  context: GraphContext,
  work: (security: AccountSecurity, person: SignedIn, http: HttpSide) => Promise<T>,
): Promise<T> {
  const person = requirePerson(context);
  const http = httpSide(context);
  const { security } = await writeSide(context).accounts();
  return await limited(http, () => work(security, person, http));
}

function sessionsOf(context: GraphContext): OwnSession[] {
  const principal = requirePerson(context);
  const { reader } = context.read;
  const now = Date.now();
  return reader
    .list(tables.auth, 'field', ['session', 'userId', principal.userId])
    .filter((record) => millis(record, 'expiresAt') > now)
    .map((record) => ({
      id: record.id,
      current: record.id === principal.sessionId,
      address: text(record, 'ipAddress'),
      userAgent: text(record, 'userAgent'),
      createdAtMs: millis(record, 'createdAt'),
      lastSeenAtMs: Math.max(
        millis(record, 'createdAt'),
        millis(record, 'updatedAt'),
        reader.get(tables.sightings, record.id)?.lastSeenAtMs ?? 0,
      ),
    }))
    .sort((a, b) => b.createdAtMs - a.createdAtMs);
}

function millis(record: Readonly<AuthRecord>, field: string): number {
  const value = record.fields[field];
  return typeof value === 'number' ? value : 0;
}

function text(record: Readonly<AuthRecord>, field: string): string | null {
  const value = record.fields[field];
  return typeof value === 'string' && value !== '' ? value : null;
}
