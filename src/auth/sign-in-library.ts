/**
 * Owns better-auth: how it is configured and the few things it is asked. Imported dynamically, when
 * somebody first signs in: it costs tens of megabytes and a tenth of a second.
 *
 * 1. None of its HTTP routes is mounted; it sends nothing anywhere and logs through our logger.
 * 2. Its cookie is the one `session-cookie.ts` reads: same name, same signature.
 */
import { betterAuth } from 'better-auth/minimal';
import { APIError } from 'better-call';
import * as z from 'zod';
import { newId } from '../lib/ids.ts';
import type { Logger } from '../lib/log.ts';
import { readMemberships } from './account-reads.ts';
import type { Origin } from './accounts-contract.ts';
import { type AuthAdapterOptions, authAdapter } from './adapter.ts';
import { passwordMax, passwordMin } from './sign-in-input.ts';
import { sessionCookieName, sessionMaxAgeS } from './session-cookie.ts';

export interface SignInLibraryOptions extends AuthAdapterOptions {
  secret: string;
  publicUrl: string;
  log: Logger;
}

export interface SignInLibrary {
  /** Whether it takes a text as an address. */
  isEmail(text: string): boolean;
  hashPassword(password: string): Promise<string>;
  /** A new session: the raw value of its cookie. Null for an unknown address or wrong password. */
  signIn(
    email: string,
    password: string,
    origin: Origin,
  ): Promise<{ userId: string; cookie: string } | null>;
}

const emailMax = 254;
const addressHeader = 'x-gangway-address';

export async function openSignInLibrary(options: SignInLibraryOptions): Promise<SignInLibrary> {
  const auth = createLibrary(options);
  const context = await auth.$context;
  const address = z.email().max(emailMax);
  return {
    isEmail: (text) => address.safeParse(text).success,
    hashPassword: (password) => context.password.hash(password),
    signIn: async (email, password, origin) => {
      const headers = new Headers({ [addressHeader]: origin.address });
      headers.set('user-agent', headerText(origin.userAgent));
      try {
        const answer = await auth.api.signInEmail({
          body: { email, password },
          headers,
          returnHeaders: true,
        });
        const { user } = answer.response;
        return { userId: user.id, cookie: cookieIn(answer.headers.getSetCookie()) };
      } catch (thrown) {
        if (thrown instanceof APIError && [400, 401].includes(thrown.statusCode)) return null;
        throw thrown;
      }
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
    // Named here as well, because the library prefers what the environment says to `secret`.
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
      log: (_level, message) => {
        log.error({ message }, 'auth-library');
      },
    },
    advanced: {
      cookiePrefix: sessionCookieName.slice(0, sessionCookieName.indexOf('.')),
      useSecureCookies: false,
      ipAddress: { ipAddressHeaders: [addressHeader] },
      database: { generateId: ({ model }) => idFor(model) },
    },
  });
}

function idFor(model: string): string {
  return newId(model === 'user' ? 'usr' : 'ses');
}

function cookieIn(setCookies: readonly string[]): string {
  const start = `${sessionCookieName}=`;
  const cookie = setCookies.find((one) => one.startsWith(start));
  if (cookie === undefined) throw new Error('the library set no session cookie');
  return cookie.slice(start.length).split(';', 1)[0] ?? '';
}

/** What a header may hold: the library gets it through one. */
function headerText(text: string): string {
  return text.replace(/[^\x20-\x7e]/g, '?').slice(0, 512);
}
