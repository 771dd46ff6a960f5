/**
 * Owns better-auth: how it is configured, and the few things it is asked. It is imported when somebody
 * first signs in, because it costs tens of megabytes and a tenth of a second.
 *
 * 1. None of its HTTP routes is served. It sends nothing anywhere, and logs through our logger.
 * 2. Its cookie is the one `session-cookie.ts` reads: same name, same signature.
 */
import { betterAuth } from 'better-auth/minimal';
import { newId } from '../../lib/ids.ts';
import type { Logger } from '../../lib/log.ts';
import { readMemberships } from '../callers/account-reads.ts';
import type { Origin } from './sign-in.ts';
import { type AuthAdapterOptions, authAdapter } from './better-auth-adapter.ts';
import { passwordMax, passwordMin } from './sign-in-input.ts';
import { sealSessionCookie, sessionCookieName, sessionMaxAgeS } from '../callers/session-cookie.ts';

export interface SignInLibraryOptions extends AuthAdapterOptions {
  secret: string;
  publicUrl: string;
  log: Logger;
}

export interface SignInLibrary {
  hashPassword(password: string): Promise<string>;
  isPassword(password: string, hash: string): Promise<boolean>;
  /** A new session of a person, and the raw value of its cookie. */
  startSession(userId: string, origin: Origin): Promise<{ sessionId: string; cookie: string }>;
}

const userAgentMax = 512;

export async function openSignInLibrary(options: SignInLibraryOptions): Promise<SignInLibrary> {
  const auth = createLibrary(options);
  const context = await auth.$context;
  return {
    hashPassword: (password) => context.password.hash(password),
    isPassword: (password, hash) => context.password.verify({ password, hash }),
    startSession: async (userId, { address: ipAddress, userAgent }) => {
      const from = { ipAddress, userAgent: userAgent.slice(0, userAgentMax) };
      const { id, token } = await context.internalAdapter.createSession(userId, false, from);
      return { sessionId: id, cookie: sealSessionCookie(token, options.secret) };
    },
  };
}

// The type of an instance follows from its options, so it is inferred.
function createLibrary(options: SignInLibraryOptions) {
  const { reader, secret, publicUrl, log } = options;
  return betterAuth({
    appName: 'Gangway',
    baseURL: publicUrl,
    secret,
    // Given here as well, because the library prefers secrets of the environment to `secret`.
    secrets: [{ version: 1, value: secret }],
    database: authAdapter(options),
    emailAndPassword: {
      enabled: true,
      disableSignUp: true,
      minPasswordLength: passwordMin,
      maxPasswordLength: passwordMax,
    },
    user: {
      additionalFields: {
        isInstanceAdmin: { type: 'boolean', required: false, defaultValue: false, input: false },
        twoFactorEnabled: { type: 'boolean', required: false, defaultValue: false, input: false },
      },
    },
    session: {
      expiresIn: sessionMaxAgeS,
      additionalFields: { currentTeamId: { type: 'string', required: false, input: false } },
    },
    databaseHooks: {
      session: {
        create: {
          before: (session) => {
            const currentTeamId = readMemberships(reader, session.userId)[0]?.teamId ?? null;
            return Promise.resolve({ data: { ...session, currentTeamId } });
          },
        },
      },
    },
    rateLimit: { enabled: false },
    telemetry: { enabled: false },
    logger: {
      level: 'error',
      log: (_level, message) => log.error({ message }, 'auth_library'),
    },
    advanced: {
      cookiePrefix: sessionCookieName.slice(0, sessionCookieName.indexOf('.')),
      useSecureCookies: false,
      database: { generateId: ({ model }) => idFor(model) },
    },
  });
}

function idFor(model: string): string {
  return newId(model === 'user' ? 'usr' : 'ses');
}
