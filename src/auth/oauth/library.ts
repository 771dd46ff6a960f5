/**
 * Owns better-auth's OAuth provider: how it is configured, and how it is asked. It is imported when
 * somebody first uses OAuth.
 *
 * 1. Tokens are opaque and stored as hashes. What they may do is in the grant they refer to, never in
 *    the token.
 * 2. Every request asks for consent: an earlier consent never answers for the next request.
 * 3. Tokens do not depend on the session of the consent: they outlive a sign-out.
 */
import { AsyncLocalStorage } from 'node:async_hooks';
import { timingSafeEqual } from 'node:crypto';
import type { BetterAuthOptions, BetterAuthPlugin } from '@better-auth/core';
import type { DBAdapter } from '@better-auth/core/db/adapter';
import { type OAuthOptions, type Scope, oauthProvider } from '@better-auth/oauth-provider';
import { betterAuth } from 'better-auth/minimal';
import { makeSignature } from 'better-auth/crypto';
import type { Clock } from '../../lib/clock.ts';
import type { GuardedFetch } from '../../lib/guarded-fetch.ts';
import { newId } from '../../lib/ids.ts';
import type { Logger } from '../../lib/log.ts';
import { type AuthAdapterOptions, authAdapter } from '../sign-in/better-auth-adapter.ts';
import { sessionCookieName, sessionMaxAgeS } from '../callers/session-cookie.ts';
import { newTokenSecret, tokenHash } from '../callers/token-codec.ts';
import { clientDocuments } from './client-documents.ts';
import { accessTokenMs, codeMs, consentMs, refreshPrefix, refreshTokenMs } from './lifetimes.ts';
import { issuerOf, mcpResource } from './metadata.ts';
import { allScopes } from './scopes.ts';

export interface OAuthLibraryOptions extends AuthAdapterOptions {
  secret: string;
  publicUrl: string;
  log: Logger;
  clock: Clock;
  fetch: GuardedFetch;
}

export interface LibraryRequest {
  method: 'GET' | 'POST';
  /** Below the issuer, such as `/oauth2/token`, with its query. */
  path: string;
  headers: Readonly<Record<string, string>>;
  body?: string;
}

/** What the library is told of a request beside the request itself. */
export interface LibraryOccasion {
  /** The grant that a person just consented to. */
  grantId?: string;
  /** Whether a client's document may be fetched, because a signed-in person waits for it. */
  mayFetch?: boolean;
}

export interface LibraryAnswer {
  status: number;
  headers: Headers;
  text: string;
}

export interface OAuthLibrary {
  ask(request: LibraryRequest, occasion?: LibraryOccasion): Promise<LibraryAnswer>;
  /**
   * The parameters of a request that the library itself signed for the consent page; null if forged.
   */
  openSigned(query: string): Promise<URLSearchParams | null>;
}

export async function openOAuthLibrary(options: OAuthLibraryOptions): Promise<OAuthLibrary> {
  const { publicUrl, secret } = options;
  const occasions = new AsyncLocalStorage<LibraryOccasion>();
  const auth = createLibrary(options, () => occasions.getStore() ?? {});
  const { adapter } = await auth.$context;
  // The public URL may have changed since the last start. Nothing is issued for another URL.
  const identifiers = resourcesOf(publicUrl);
  await adapter.deleteMany({
    model: 'oauthResource',
    where: [{ field: 'identifier', operator: 'not_in', value: identifiers }],
  });
  return {
    ask: async ({ method, path, headers, body }, occasion = {}) => {
      const request = new Request(issuerOf(publicUrl) + path, {
        method,
        headers,
        ...(body !== undefined && { body }),
      });
      const answer = await occasions.run(occasion, () => auth.handler(request));
      return { status: answer.status, headers: answer.headers, text: await answer.text() };
    },
    openSigned: async (query) => {
      const params = new URLSearchParams(query);
      const [given = '', ...more] = params.getAll('sig');
      params.delete('sig');
      const right = await makeSignature(canonical(params), secret);
      const late = Number(params.get('exp')) * 1_000 < options.clock.now();
      return more.length === 0 && !late && isSame(given, right) ? params : null;
    },
  };
}

function createLibrary(options: OAuthLibraryOptions, occasion: () => LibraryOccasion) {
  const { secret, publicUrl, log, clock } = options;
  const provider = providerOptions(options, occasion);
  return betterAuth({
    appName: 'Gangway',
    baseURL: publicUrl,
    secret,
    // Named here as well, because the library prefers what the environment says to `secret`.
    secrets: [{ version: 1, value: secret }],
    database: (own: BetterAuthOptions) => withoutSessions(authAdapter(options)(own)),
    // The library's types do not fit each other under exactOptionalPropertyTypes.
    plugins: [oauthProvider(provider) as unknown as BetterAuthPlugin],
    // The authenticator renews sessions.
    session: { expiresIn: sessionMaxAgeS, disableSessionRefresh: true },
    databaseHooks: {
      verification: {
        create: {
          // The provider has one lifetime for codes and for the consent page before them; codes get
          // their own here.
          before: (row) => {
            const endsAtMs = clock.now() + codeMs;
            return Promise.resolve({ data: { ...row, expiresAt: new Date(endsAtMs) } });
          },
        },
      },
    },
    rateLimit: { enabled: false },
    telemetry: { enabled: false },
    logger: {
      level: 'error',
      log: (_level, message) => log.error({ message }, 'oauth_library'),
    },
    advanced: {
      cookiePrefix: sessionCookieName.slice(0, sessionCookieName.indexOf('.')),
      useSecureCookies: false,
      database: { generateId: () => newId('oau', clock.now()) },
    },
  });
}

function providerOptions(
  options: OAuthLibraryOptions,
  occasion: () => LibraryOccasion,
): OAuthOptions<Scope[]> {
  const provider: OAuthOptions<Scope[]> = {
    scopes: [...allScopes],
    loginPage: '/login',
    consentPage: consentPath,
    postLogin: {
      page: consentPath,
      shouldRedirect: () => false,
      // A reference that no consent has makes the library ask for consent.
      consentReferenceId: () => occasion().grantId ?? 'none',
    },
    grantTypes: ['authorization_code', 'refresh_token'],
    allowDynamicClientRegistration: true,
    allowUnauthenticatedClientRegistration: true,
    resources: resourcesOf(options.publicUrl),
    enforcePerClientResources: false,
    // Opaque tokens only, so that a revoked one is dead at once.
    disableJwtPlugin: true,
    codeExpiresIn: consentMs / 1_000,
    accessTokenExpiresIn: accessTokenMs / 1_000,
    refreshTokenExpiresIn: refreshTokenMs / 1_000,
    storeTokens: { hash: (token) => Promise.resolve(tokenHash(token)) },
    generateOpaqueAccessToken: newTokenSecret,
    prefix: { refreshToken: refreshPrefix },
    extensions: [
      {
        clientDiscovery: clientDocuments({
          fetch: options.fetch,
          clock: options.clock,
          mayFetch: () => occasion().mayFetch === true,
          provider: () => provider,
        }),
      },
    ],
  };
  return provider;
}

const consentPath = '/api/auth/oauth2/consent';

function resourcesOf(publicUrl: string): string[] {
  return [publicUrl, mcpResource(publicUrl)];
}

/** The library would end tokens with the session of their consent. Here only the grant ends them. */
function withoutSessions(adapter: DBAdapter): DBAdapter {
  const bare: DBAdapter['create'] = (data) => {
    const issued = data.model === 'oauthAccessToken' || data.model === 'oauthRefreshToken';
    if (!issued) return adapter.create(data);
    return adapter.create({ ...data, data: { ...data.data, sessionId: undefined } });
  };
  return { ...adapter, create: bare };
}

function canonical(params: URLSearchParams): string {
  const entries = [...params.entries()].sort(
    ([keyA, valueA], [keyB, valueB]) => order(keyA, keyB) || order(valueA, valueB),
  );
  return new URLSearchParams(entries).toString();
}

function order(a: string, b: string): number {
  return a < b ? -1 : Number(a > b);
}

function isSame(given: string, right: string): boolean {
  const a = Buffer.from(given);
  const b = Buffer.from(right);
  return a.length === b.length && timingSafeEqual(a, b);
}
