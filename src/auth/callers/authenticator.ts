/**
 * Owns the hot path from a credential to a principal. The credential is a signed session cookie or an
 * API token; it is resolved without waiting and without better-auth.
 *
 * 1. A journal entry that may change what a credential stands for drops what is remembered, before the
 *    change is answered. So a revoked token and an ended session are dead at once.
 * 2. Expiry is checked at every use, remembered or not.
 * 3. Whatever is wrong with a token, the answer is the same, except that a good token whose scope is
 *    deleted is told so. A bad cookie is anonymous.
 * 4. Secrets are compared in constant time or as hashes. None is logged.
 */
import { accountActor, directory } from '../../actors/account/protocol.ts';
import type { Actors } from '../../actors/runtime/actor.ts';
import type { Clock } from '../../lib/clock.ts';
import { ServiceError } from '../../lib/errors.ts';
import type { Logger } from '../../lib/log.ts';
import type { Journal, Reader } from '../../store/reader-and-journal.ts';
import type { AuthRecord, TokenRecord } from '../../store/records/records.ts';
import { tables } from '../../store/records/tables.ts';
import { isMember, personTeam, tokenTeam } from './acting-team.ts';
import { CredentialUses } from './credential-uses.ts';
import { type Principal, type SignedIn, anonymous } from './principal.ts';
import { RecentMap } from '../../lib/recent-map.ts';
import { isScopeGone, reachOfTeam } from '../rights/scope.ts';
import {
  findSessionCookie,
  keepCookie,
  openSessionCookie,
  sessionMaxAgeS,
} from './session-cookie.ts';
import { isWellFormedToken, tokenHash } from './token-codec.ts';

export interface Credentials {
  cookieHeader: string;
  authorization: string;
  /** `X-Service-Team`: a team's id or slug; '' for none. */
  team: string;
  /** What the token must be good for; default `api`. A token for the API is good for MCP as well. */
  audience?: 'api' | 'mcp';
}

/** The hot path: microseconds, no await, revocation at once. */
export interface Authenticator {
  /**
   * The principal behind the session cookie; anonymous without a cookie or with an old one. BAD_REQUEST
   * for two cookies of the name, FORBIDDEN for a team that the person is not in.
   */
  byCookie(credentials: Credentials): Principal;
  /**
   * The principal behind `Authorization: Bearer`. UNAUTHENTICATED for anything that is no good token.
   */
  byToken(credentials: Credentials): SignedIn;
  /** Whether a principal that was resolved before would still be resolved now; for open streams. */
  stillValid(principal: Principal): boolean;
}

export interface AuthenticatorOptions {
  reader: Reader;
  subscribe: Journal['subscribe'];
  actors: Actors;
  clock: Clock;
  log: Logger;
  /** What better-auth signs its cookies with. */
  secret: string;
  /**
   * How many credentials of each kind are remembered, at least half of them for certain; default
   * 30,000.
   */
  rememberedMax?: number;
}

/**
 * Half of it is more than the 10,000 tokens of a fleet: with less, tokens used in turn would never be
 * found.
 */
const rememberedDefault = 30_000;
const renewedAfterMs = 24 * 60 * 60 * 1_000;

interface Remembered<P extends Principal> {
  principal: P;
  expiresAtMs: number;
}

interface RememberedSession extends Remembered<Extract<Principal, { kind: 'person' }>> {
  /** As stored, or as renewed and noted since. */
  renewable: { sessionId: string; updatedAtMs: number; seenAtMs: number };
}

interface RememberedToken extends Remembered<SignedIn> {
  tokenId: string;
  homeTeamId: string;
  lastUsedAtMs: number;
  /** Issued to an OAuth client for the MCP endpoint and nothing else. */
  mcpOnly: boolean;
}

export interface ClosableAuthenticator extends Authenticator {
  /**
   * A `Set-Cookie` that keeps the session cookie for another seven days, once a day; null when that is
   * not due. For transports that answer a browser, after `byCookie` gave a person.
   */
  renew(credentials: Credentials, secure: boolean): string | null;
  /** Writes what is pending and stops listening. */
  close(): void;
}

export function createAuthenticator(options: AuthenticatorOptions): ClosableAuthenticator {
  return new JournaledAuthenticator(options);
}

// The tables a principal depends on. Apps and folders are missing, although the first team of a token
// that is scoped to some depends on them: such tokens are resolved anew each time.
const decisive: ReadonlySet<string> = new Set(
  [tables.auth, tables.tokens, tables.members, tables.teams].map((table) => table.name),
);

class JournaledAuthenticator implements ClosableAuthenticator {
  readonly #options: AuthenticatorOptions;
  readonly #sessions: RecentMap<RememberedSession>;
  readonly #tokens: RecentMap<RememberedToken>;
  readonly #uses: CredentialUses;
  readonly #unsubscribe: () => void;

  constructor(options: AuthenticatorOptions) {
    this.#options = options;
    this.#sessions = new RecentMap(options.rememberedMax ?? rememberedDefault);
    this.#tokens = new RecentMap(options.rememberedMax ?? rememberedDefault);
    this.#uses = new CredentialUses(options);
    this.#unsubscribe = options.subscribe((entry) => {
      if (!entry.changes.some((change) => decisive.has(change.table))) return;
      this.#sessions.clear();
      this.#tokens.clear();
    });
  }

  byCookie(credentials: Credentials): Principal {
    const raw = findSessionCookie(credentials.cookieHeader);
    const found = raw === '' ? null : this.#session(raw, credentials.team);
    if (found === null) return anonymous;
    this.#uses.noteSession(found.renewable, this.#options.clock.now());
    return found.principal;
  }

  renew(credentials: Credentials, secure: boolean): string | null {
    const raw = findSessionCookie(credentials.cookieHeader);
    const session = raw === '' ? null : this.#session(raw, credentials.team);
    return session !== null && this.#prolong(session) ? keepCookie(raw, secure) : null;
  }

  byToken(credentials: Credentials): SignedIn {
    const { authorization, team, audience } = credentials;
    const secret = bearerOf(authorization);
    if (secret === null) throw noToken();
    const key = keyOf(secret, team);
    const found = this.#tokens.get(key) ?? this.#resolveToken(secret, team, key);
    const now = this.#options.clock.now();
    const isFor = audience === 'mcp' || found?.mcpOnly !== true;
    if (found === null || found.expiresAtMs <= now || !isFor) throw badToken();
    this.#uses.noteToken(found, now);
    return found.principal;
  }

  stillValid(principal: Principal): boolean {
    const { reader, clock } = this.#options;
    switch (principal.kind) {
      case 'anonymous':
        return true;
      case 'person': {
        const session = reader.get(tables.auth, ['session', principal.sessionId]);
        if (session?.fields['userId'] !== principal.userId) return false;
        if (millis(session.fields['expiresAt']) <= clock.now()) return false;
        if (!reader.get(tables.auth, ['user', principal.userId])) return false;
        return principal.teamId === null || isMember(reader, principal.userId, principal.teamId);
      }
      case 'token': {
        const token = reader.get(tables.tokens, principal.tokenId);
        if (token?.userId !== principal.userId) return false;
        if ((token.expiresAtMs ?? Infinity) <= clock.now()) return false;
        if (!reader.get(tables.auth, ['user', token.userId])) return false;
        if (principal.teamId === null) return true;
        if (reachOfTeam(reader, token, principal.teamId) === 'none') return false;
        return isMember(reader, token.userId, principal.teamId);
      }
    }
  }

  close(): void {
    this.#unsubscribe();
    this.#uses.close();
  }

  /** Has a session live for another seven days when it was not renewed for one; false when it was. */
  #prolong({ renewable }: RememberedSession): boolean {
    const { actors, clock, log } = this.#options;
    const { sessionId, updatedAtMs } = renewable;
    const atMs = clock.now();
    if (atMs - updatedAtMs < renewedAfterMs) return false;
    const expiresAtMs = atMs + sessionMaxAgeS * 1_000;
    try {
      const message = { type: 'session-renew', sessionId, atMs, expiresAtMs } as const;
      actors.tell(accountActor.at(directory), message);
    } catch (thrown) {
      log.warn({ sessionId, err: thrown }, 'session_renewal_dropped');
      return false;
    }
    renewable.updatedAtMs = atMs;
    return true;
  }

  #session(raw: string, team: string): RememberedSession | null {
    const key = keyOf(raw, team);
    const found = this.#sessions.get(key) ?? this.#resolveSession(raw, team, key);
    return found !== null && found.expiresAtMs > this.#options.clock.now() ? found : null;
  }

  #resolveSession(raw: string, team: string, key: string): RememberedSession | null {
    const { reader, secret, clock } = this.#options;
    const token = openSessionCookie(raw, secret);
    if (token === null) return null;
    const session = reader.find(tables.auth, 'sessionToken', [token]);
    const userId = session?.fields['userId'];
    if (!session || typeof userId !== 'string') return null;
    const expiresAtMs = millis(session.fields['expiresAt']);
    // An expired session is anonymous, even where the request names a team that it could not act in.
    if (expiresAtMs <= clock.now() || !reader.get(tables.auth, ['user', userId])) return null;
    const teamId = personTeam(reader, userId, team, currentTeam(session));
    const updatedAtMs = millis(session.fields['updatedAt']);
    const seen = reader.get(tables.sightings, session.id);
    const found: RememberedSession = {
      principal: { kind: 'person', userId, sessionId: session.id, teamId },
      expiresAtMs,
      renewable: {
        sessionId: session.id,
        updatedAtMs,
        seenAtMs: seen?.lastSeenAtMs ?? updatedAtMs,
      },
    };
    this.#sessions.set(key, found);
    return found;
  }

  #resolveToken(secret: string, team: string, key: string): RememberedToken | null {
    const { reader, clock } = this.#options;
    if (!isWellFormedToken(secret)) return null;
    const hash = tokenHash(secret);
    const direct = reader.find(tables.tokens, 'hash', [hash]);
    const issued = direct ? undefined : findIssued(reader, hash);
    const token = direct ?? issued?.grant;
    if (!token || !reader.get(tables.auth, ['user', token.userId])) return null;
    const expiresAtMs = Math.min(token.expiresAtMs ?? Infinity, issued?.expiresAtMs ?? Infinity);
    // Checked before the team: a bad token is 401, whatever team the request names.
    if (expiresAtMs <= clock.now()) return null;
    if (isScopeGone(reader, token)) throw scopeGone();
    const teamId = tokenTeam(reader, token, team);
    const found: RememberedToken = {
      principal: { kind: 'token', userId: token.userId, tokenId: token.id, teamId },
      expiresAtMs,
      tokenId: token.id,
      homeTeamId: token.homeTeamId,
      lastUsedAtMs: token.lastUsedAtMs ?? 0,
      mcpOnly: issued?.mcpOnly === true,
    };
    if (!isScopedBelowTeams(token)) this.#tokens.set(key, found);
    return found;
  }
}

interface Issued {
  grant: Readonly<TokenRecord>;
  expiresAtMs: number;
  mcpOnly: boolean;
}

/** The grant behind an access token that the OAuth provider issued. */
function findIssued(reader: Reader, hash: string): Issued | undefined {
  const [row] = reader.list(tables.auth, 'field', ['oauthAccessToken', 'token', hash], {
    limit: 1,
  });
  const { referenceId, expiresAt, resources } = row?.fields ?? {};
  const grant =
    typeof referenceId === 'string' ? reader.get(tables.tokens, referenceId) : undefined;
  if (!grant?.oauth) return undefined;
  const named: readonly unknown[] = Array.isArray(resources) ? resources : [];
  return { grant, expiresAtMs: millis(expiresAt), mcpOnly: isMcpOnly(named) };
}

/** The provider issues tokens for the public URL and for the MCP endpoint below it (RFC 8707). */
function isMcpOnly(resources: readonly unknown[]): boolean {
  const isMcp = (name: unknown): boolean => typeof name === 'string' && name.endsWith('/api/mcp');
  return resources.length > 0 && resources.every(isMcp);
}

function isScopedBelowTeams(token: Readonly<TokenRecord>): boolean {
  return token.folderIds.length > 0 || token.appIds.length > 0 || token.databaseIds.length > 0;
}

function currentTeam(session: Readonly<AuthRecord>): string | null {
  const teamId = session.fields['currentTeamId'];
  return typeof teamId === 'string' && teamId !== '' ? teamId : null;
}

function keyOf(credential: string, team: string): string {
  return team === '' ? credential : `${credential}\n${team}`;
}

/** The text behind `Bearer`; null when the request has no bearer credential. */
function bearerOf(authorization: string): string | null {
  if (authorization.length < 7 || authorization.slice(0, 7).toLowerCase() !== 'bearer ') {
    return null;
  }
  return authorization.slice(7).trim() || null;
}

function millis(value: unknown): number {
  return typeof value === 'number' ? value : 0;
}

function noToken(): ServiceError {
  return new ServiceError('UNAUTHENTICATED', 'This needs an API token.', {
    headers: { 'WWW-Authenticate': 'Bearer' },
  });
}

function badToken(): ServiceError {
  return new ServiceError('UNAUTHENTICATED', 'The API token is not valid.', {
    headers: { 'WWW-Authenticate': 'Bearer error="invalid_token"' },
  });
}

function scopeGone(): ServiceError {
  return new ServiceError(
    'TOKEN_SCOPE_GONE',
    'All that this API token was made for is deleted, so it reaches nothing. Make another token, or restore what is in trash.',
  );
}
