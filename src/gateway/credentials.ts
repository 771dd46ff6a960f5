/**
 * Owns the HTTP rules for credentials. Who the caller is, `src/auth` decides.
 *
 * 1. Byte-stream endpoints accept only the session cookie: a bearer token is COOKIE_REQUIRED there, even
 *    with a good cookie. The hook and MCP accept only the token and ignore cookies.
 * 2. Where both are accepted, the bearer token decides.
 * 3. A cookie request that changes something must come from our own pages, or from no browser: CROSS_SITE
 *    otherwise. A bearer token needs no such check, because another site's page cannot send it.
 * 4. Failed tokens are counted by address; above the limit, failures are 429. A good token is never refused
 *    for the failures of others on its address.
 */
import type {
  Authenticator,
  ClosableAuthenticator,
  Credentials,
} from '../auth/callers/authenticator.ts';
import type { Origin } from '../auth/sign-in/sign-in.ts';
import type { Principal, SignedIn } from '../auth/callers/principal.ts';
import { ServiceError } from '../lib/errors.ts';
import { networkOf } from '../lib/networks.ts';
import type { Limit } from '../lib/rate-limit.ts';
import type { Exchange } from './transport.ts';

export interface PublicUrl {
  /** Origin without trailing slash, such as `https://panel.example.com`. */
  url: string;
  /** False when nobody set the URL and it follows from the address we listen on. */
  configured: boolean;
}

export interface CallersOptions {
  authenticator: Authenticator;
  /** Prolongs sessions by `Set-Cookie`. Without it, sessions end at their time. */
  renewal?: Pick<ClosableAuthenticator, 'renew'>;
  /** Called at each check, since the URL may change while we run. */
  publicUrl: () => PublicUrl;
  /** Failed tokens by network. */
  failures?: Limit;
  /** Called with the principal that makes a request. */
  onCaller?: (principal: Principal) => void;
}

/** What credentials are read from. */
export type CallerSide = Pick<
  Exchange,
  'address' | 'secure' | 'header' | 'headerCount' | 'addHeader'
>;

export type Person = Extract<Principal, { kind: 'person' }>;

/** `changes`: whether the request changes something, or opens a shell. */
export interface CookieUse {
  changes: boolean;
}

export class Callers {
  readonly #options: CallersOptions;

  constructor(options: CallersOptions) {
    this.#options = options;
  }

  /** The person behind the session cookie: COOKIE_REQUIRED, UNAUTHENTICATED, CROSS_SITE. */
  cookiePerson(exchange: Exchange, use: CookieUse): Person {
    if (hasBearer(exchange)) {
      throw new ServiceError('COOKIE_REQUIRED', 'This address takes the session cookie only.');
    }
    const principal = this.#byCookie(exchange);
    if (principal.kind !== 'person') {
      throw new ServiceError('UNAUTHENTICATED', 'Sign in first.');
    }
    if (use.changes) this.refuseCrossSite(exchange);
    return principal;
  }

  /**
   * The principal behind the bearer token. UNAUTHENTICATED with `WWW-Authenticate: Bearer` and the given
   * parameters, such as `resource_metadata="…"`; RATE_LIMITED after too many failures. A token that an
   * OAuth client got for MCP is accepted only where `audience` is MCP.
   */
  bearer(
    exchange: CallerSide,
    challenge: string | (() => string) = '',
    audience: 'api' | 'mcp' = 'api',
  ): SignedIn {
    return this.#withBearer(exchange, 'An API token is needed.', challenge, () => {
      const principal = this.#options.authenticator.byToken({
        ...credentialsOf(exchange),
        audience,
      });
      this.#options.onCaller?.(principal);
      return principal;
    });
  }

  /** What a bearer token stands for that is nobody's: `find` throws UNAUTHENTICATED for one that is not good. */
  byBearer<T>(exchange: CallerSide, find: (token: string) => T): T {
    return this.#withBearer(exchange, 'A bootstrap token is needed.', '', () => {
      const token = /^bearer +(\S+)$/i.exec(exchange.header('authorization'))?.[1];
      if (token !== undefined) return find(token);
      throw new ServiceError('UNAUTHENTICATED', 'The Authorization header holds no token.');
    });
  }

  #withBearer<T>(
    exchange: CallerSide,
    missing: string,
    challenge: string | (() => string),
    find: () => T,
  ): T {
    try {
      if (!hasBearer(exchange)) throw new ServiceError('UNAUTHENTICATED', missing);
      if (exchange.headerCount('authorization') !== 1) {
        throw new ServiceError('UNAUTHENTICATED', 'There is more than one Authorization header.');
      }
      return find();
    } catch (error) {
      if (!(error instanceof ServiceError) || error.code !== 'UNAUTHENTICATED') throw error;
      if (hasBearer(exchange)) this.#countFailure(exchange);
      const asked = typeof challenge === 'string' ? challenge : challenge();
      throw challenged(error, asked, hasBearer(exchange));
    }
  }

  /** The principal behind an API token that is the password of HTTP Basic, whatever the user name, or a bearer. */
  basic(exchange: Exchange): SignedIn {
    if (hasBearer(exchange)) return this.bearer(exchange);
    const given = /^basic +([A-Za-z0-9+/=]+)$/i.exec(exchange.header('authorization'))?.[1];
    try {
      const token =
        given &&
        Buffer.from(given, 'base64')
          .toString()
          .replace(/^[^:]*:/, '');
      if (!token) throw new ServiceError('UNAUTHENTICATED', 'An API token is needed as password.');
      const authorization = `Bearer ${token}`;
      const principal = this.#options.authenticator.byToken({
        ...{ cookieHeader: '', authorization, team: '', audience: 'api' },
      });
      this.#options.onCaller?.(principal);
      return principal;
    } catch (error) {
      if (!(error instanceof ServiceError) || error.code !== 'UNAUTHENTICATED') throw error;
      if (given !== undefined) this.#countFailure(exchange);
      const headers = { 'WWW-Authenticate': 'Basic realm="Gangway", charset="UTF-8"' };
      throw new ServiceError(error.code, error.message, { headers, cause: error });
    }
  }

  /** Accepts a token, a cookie or neither, for GraphQL: UNAUTHENTICATED for a bad token only; CROSS_SITE. */
  either(exchange: CallerSide, use: CookieUse): Principal {
    if (hasBearer(exchange)) return this.bearer(exchange);
    const principal = this.#byCookie(exchange);
    if (use.changes && principal.kind === 'person') this.refuseCrossSite(exchange);
    return principal;
  }

  /** Throws CROSS_SITE for a request that another site's page made a browser send. */
  refuseCrossSite(exchange: Pick<Exchange, 'header'>): void {
    const site = exchange.header('sec-fetch-site');
    const origin = exchange.header('origin');
    if (site === 'same-origin' || site === 'none') return;
    if (site === '' && origin === '') return;
    const publicUrl = this.#options.publicUrl();
    if (origin !== '' && isOurs(origin, publicUrl)) return;
    // Nobody configured an address, so only the Host header is left to compare with.
    const hint = publicUrl.configured ? '' : ' If it is this one, set GANGWAY_PUBLIC_URL.';
    throw new ServiceError('CROSS_SITE', `The request comes from another site.${hint}`);
  }

  /** Throws CROSS_SITE for an Origin that is not ours. On a loopback host every local name is ours. */
  refuseForeignOrigin(exchange: Exchange): void {
    const origin = exchange.header('origin');
    if (origin === '') return;
    const ours = this.#options.publicUrl();
    if (isOurs(origin, ours)) return;
    if (isOnThisMachine(origin) && isOnThisMachine(ours.url)) return;
    throw new ServiceError('CROSS_SITE', 'The request comes from another site.');
  }

  #byCookie(exchange: CallerSide): Principal {
    const credentials = credentialsOf(exchange);
    const principal = this.#options.authenticator.byCookie(credentials);
    if (principal.kind === 'person') {
      this.#options.onCaller?.(principal);
      const cookie = this.#options.renewal?.renew(credentials, exchange.secure) ?? null;
      if (cookie !== null) exchange.addHeader('Set-Cookie', cookie);
    }
    return principal;
  }

  #countFailure(exchange: CallerSide): void {
    const retryAfterS = this.#options.failures?.take(networkOf(exchange.address)) ?? 0;
    if (retryAfterS === 0) return;
    throw new ServiceError('RATE_LIMITED', 'Too many failed tokens from this address.', {
      retryAfterS,
    });
  }
}

/** The person at a page of ours; null when nobody is signed in. FORBIDDEN for a token, CROSS_SITE. */
export function personAt(
  exchange: Exchange,
  callers: Pick<Callers, 'either'>,
  use: CookieUse = { changes: false },
): Person | null {
  const principal = callers.either(exchange, use);
  if (principal.kind === 'token') {
    throw new ServiceError('FORBIDDEN', 'An API token cannot do this; sign in.');
  }
  return principal.kind === 'person' ? principal : null;
}

/** What accounts need to know of a request's origin. */
export function originOf(exchange: Exchange): Origin {
  const { address, fromLoopback, secure } = exchange;
  return { address, fromLoopback, secure, userAgent: exchange.header('user-agent') };
}

function credentialsOf(exchange: CallerSide): Credentials {
  return {
    cookieHeader: exchange.header('cookie'),
    authorization: exchange.header('authorization'),
    team: exchange.header('x-service-team'),
  };
}

/** Whether the header holds a bearer token. Another scheme may belong to a proxy in front of us. */
function hasBearer(exchange: CallerSide): boolean {
  const authorization = exchange.header('authorization');
  // The usual spelling is checked first.
  return authorization.startsWith('Bearer ') || /(^|,)\s*bearer(\s|,|$)/i.test(authorization);
}

/** RFC 6750, 3: the error is named only where a token was given. */
function challenged(error: ServiceError, challenge: string, given: boolean): ServiceError {
  const parts = [given ? 'error="invalid_token"' : '', challenge].filter((part) => part !== '');
  const value = parts.length === 0 ? 'Bearer' : `Bearer ${parts.join(', ')}`;
  return new ServiceError(error.code, error.message, {
    headers: { ...error.headers, 'WWW-Authenticate': value },
    ...(error.extensions && { extensions: error.extensions }),
    cause: error,
  });
}

function isOurs(origin: string, ours: PublicUrl): boolean {
  if (!URL.canParse(origin) || !URL.canParse(ours.url)) return false;
  const theirs = new URL(origin);
  // "null" does not parse. An opaque origin, or text beyond an origin, is not ours either.
  if (theirs.origin === 'null' || theirs.origin !== origin.toLowerCase()) return false;
  const own = new URL(ours.url);
  if (theirs.origin === own.origin) return true;
  return !ours.configured && samePort(theirs, own) && isThisMachine(theirs) && isThisMachine(own);
}

function isOnThisMachine(url: string): boolean {
  return URL.canParse(url) && isThisMachine(new URL(url));
}

function samePort(one: URL, other: URL): boolean {
  return one.protocol === other.protocol && one.port === other.port;
}

function isThisMachine(url: URL): boolean {
  return ['localhost', '127.0.0.1', '[::1]'].includes(url.hostname);
}
