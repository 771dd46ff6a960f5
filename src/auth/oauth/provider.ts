/**
 * Owns how a person goes through an authorization: from a client's request by way of sign-in and
 * consent to the answer at the client's redirect URI.
 *
 * 1. Nothing, not even an error, leads to a redirect URI that the client did not register.
 * 2. A client gets what the person ticked, and never more than it asked for or the person holds.
 * 3. A consent counts once, for the session that the page was made for.
 */
import type { Clock } from '../../lib/clock.ts';
import type { Capability } from '../../lib/capabilities.ts';
import { ServiceError } from '../../lib/errors.ts';
import { FetchRefused, type GuardedFetch } from '../../lib/guarded-fetch.ts';
import type { Logger } from '../../lib/log.ts';
import { RecentMap } from '../../lib/recent-map.ts';
import type { Reader } from '../../store/reader-and-journal.ts';
import type { OAuthClientRef } from '../../store/records/records.ts';
import { assertMayGive } from '../rights/escalation.ts';
import type { Principal } from '../callers/principal.ts';
import { checkDocumentAddress, isDocumentAddress } from './document-address.ts';
import type { OAuthGrants } from './grants.ts';
import type { LibraryOccasion, OAuthLibrary } from './library.ts';
import { issuerOf } from './metadata.ts';
import { shownTarget } from './redirects.ts';
import { capabilitiesAmong, identityScopes, offeredScope, scopesIn } from './scopes.ts';

export type Person = Extract<Principal, { kind: 'person' }>;

export interface OAuthProviderOptions {
  reader: Reader;
  clock: Clock;
  log: Logger;
  grants: OAuthGrants;
  fetch: GuardedFetch;
  publicUrl: () => string;
  library: () => Promise<OAuthLibrary>;
}

/** Where a request for authorization leads. */
export type Authorization =
  /** To sign in, and then on to `next`, a path of ours. */
  | { to: 'login'; next: string }
  /** To the consent page, with the request as it was signed. */
  | { to: 'consent'; request: string }
  | { to: 'client'; location: string }
  /** To no client: the client or its redirect URI cannot be trusted. */
  | { to: 'nobody'; detail: string };

/** What the consent page shows. The client chose its name itself. */
export interface ConsentRequest {
  client: OAuthClientRef;
  redirectUri: string;
  capabilities: Capability[];
  /** Those of OpenID's scopes that are asked for. */
  identity: string[];
}

const authorizePath = '/oauth2/authorize';
const nameMax = 60;
const consentsKept = 10_000;
/** Codes expire sooner, but a grant must not be swept while its first tokens are on their way. */
const firstTokensMs = 120_000;

export class OAuthProvider {
  readonly #options: OAuthProviderOptions;
  /** Requests that were consented to. Each expires long before it is forgotten here. */
  readonly #allowed = new RecentMap<true>(2 * consentsKept);

  constructor(options: OAuthProviderOptions) {
    this.#options = options;
  }

  async authorize(
    asked: URLSearchParams,
    person: Person | null,
    cookie: string,
  ): Promise<Authorization> {
    const clientId = asked.get('client_id') ?? '';
    const repeated = repeatedName(asked);
    if (repeated !== undefined) {
      return { to: 'nobody', detail: `The parameter ${repeated} is there more than once.` };
    }
    const original = asked.toString();
    const params = this.#prepared(asked);
    if (isDocumentAddress(clientId)) {
      const refused = this.#refusedAddress(clientId);
      if (refused !== null) return { to: 'nobody', detail: refused };
      // Only a signed-in person makes us fetch a document.
      if (!person && this.#clientFields(clientId) === undefined) return loginFirst(original);
    }
    const library = await this.#options.library();
    const request = {
      method: 'GET',
      path: `${authorizePath}?${params.toString()}`,
      headers: { accept: 'text/html', 'sec-fetch-mode': 'navigate', ...(person && { cookie }) },
    } as const;
    const answer = await library.ask(request, { mayFetch: person !== null });
    const location = answer.headers.get('location');
    if (location === null) return { to: 'nobody', detail: detailIn(answer.text) };
    return this.#whereTo(location, original);
  }

  /**
   * Null for a request that the provider did not sign, that is too old, or that belongs to another
   * session.
   */
  async openConsent(request: string, person: Person): Promise<ConsentRequest | null> {
    const library = await this.#options.library();
    const params = await library.openSigned(request);
    const clientId = params?.get('client_id') ?? null;
    const redirectUri = params?.get('redirect_uri') ?? null;
    if (!params || clientId === null || redirectUri === null) return null;
    if (params.get('ba_pl') !== person.sessionId) return null;
    const host = shownTarget(redirectUri);
    const name = shownName(this.#clientFields(clientId)?.['name'], host);
    const scopes = scopesIn(params.get('scope'));
    return {
      client: { clientId, name, host },
      redirectUri,
      capabilities: capabilitiesAmong(scopes),
      identity: identityScopes.filter((scope) => scopes.includes(scope)),
    };
  }

  /**
   * Grants what the person ticked; returns where to lead the person. Throws FORBIDDEN and NOT_FOUND for
   * what the person may not give, BAD_USER_INPUT when nothing is ticked.
   */
  async allow(
    person: Person,
    cookie: string,
    request: string,
    choice: { teamId: string; capabilities: readonly string[] },
  ): Promise<string> {
    const { reader, grants, clock, log } = this.#options;
    const asked = await this.#mustOpen(request, person);
    const { teamId } = choice;
    const capabilities = asked.capabilities.filter((name) => choice.capabilities.includes(name));
    assertMayGive(reader, person, teamId, capabilities);
    if (capabilities.length === 0 && !asked.identity.includes('openid')) {
      throw new ServiceError('BAD_USER_INPUT', 'Leave at least one permission, or refuse.');
    }
    this.#allowOnce(request);
    const { userId } = person;
    const { client } = asked;
    const expiresAtMs = clock.now() + firstTokensMs;
    const grant = await grants.create({ userId, teamId, client, capabilities, expiresAtMs });
    const scope = [...capabilities, ...asked.identity].join(' ');
    const body = { accept: true, scope, oauth_query: request };
    const location = await this.#decide(cookie, body, { grantId: grant.id });
    if (!new URL(location).searchParams.has('code')) await grants.end(grant.id);
    else log.info({ grantId: grant.id, clientId: client.clientId, userId }, 'oauth_consent_given');
    return location;
  }

  async deny(person: Person, cookie: string, request: string): Promise<string> {
    await this.#mustOpen(request, person);
    return this.#decide(cookie, { accept: false, oauth_query: request }, {});
  }

  async #mustOpen(request: string, person: Person): Promise<ConsentRequest> {
    const asked = await this.openConsent(request, person);
    if (asked) return asked;
    throw runOut();
  }

  #allowOnce(request: string): void {
    if (this.#allowed.get(request)) throw runOut();
    this.#allowed.set(request, true);
  }

  async #decide(cookie: string, body: object, occasion: LibraryOccasion): Promise<string> {
    const library = await this.#options.library();
    const request = {
      method: 'POST',
      path: '/oauth2/consent',
      headers: {
        'content-type': 'application/json',
        accept: 'application/json',
        cookie,
        origin: this.#options.publicUrl(),
      },
      body: JSON.stringify(body),
    } as const;
    const answer = await library.ask(request, occasion);
    const { url } = recordIn(answer.text);
    if (typeof url === 'string') {
      const next = this.#whereTo(url, '');
      if (next.to === 'client') return next.location;
    }
    throw runOut();
  }

  #prepared(asked: URLSearchParams): URLSearchParams {
    const publicUrl = this.#options.publicUrl();
    const params = new URLSearchParams(asked);
    params.set('scope', offeredScope(asked.get('scope')));
    const resources = asked.getAll('resource').map((name) => plainResource(name, publicUrl));
    params.delete('resource');
    // A request that names no resource is for the public URL.
    for (const resource of resources.length > 0 ? resources : [publicUrl]) {
      params.append('resource', resource);
    }
    return params;
  }

  #whereTo(location: string, original: string): Authorization {
    const issuer = issuerOf(this.#options.publicUrl());
    if (location.startsWith('/login?')) return loginFirst(original);
    const consent = '/api/auth/oauth2/consent?';
    if (location.startsWith(consent)) {
      return { to: 'consent', request: location.slice(consent.length) };
    }
    if (location.startsWith('/') || location.startsWith(`${issuer}/`)) {
      const { searchParams } = new URL(location, issuer);
      const detail = searchParams.get('error_description') ?? searchParams.get('error') ?? '';
      return { to: 'nobody', detail };
    }
    const url = new URL(location);
    // The library would make the scheme https.
    if (url.searchParams.has('iss')) url.searchParams.set('iss', issuer);
    return { to: 'client', location: url.toString() };
  }

  #refusedAddress(clientId: string): string | null {
    try {
      checkDocumentAddress(this.#options.fetch, clientId);
      return null;
    } catch (error) {
      if (!(error instanceof FetchRefused)) throw error;
      return `The client's metadata document cannot be used. ${error.message}`;
    }
  }

  #clientFields(clientId: string): Readonly<Record<string, unknown>> | undefined {
    return this.#options.grants.rowsOf('oauthClient', 'clientId', clientId)[0]?.fields;
  }
}

function runOut(): ServiceError {
  return new ServiceError('BAD_REQUEST', 'This request has run out. Start again at the client.');
}

/** A resource in the library's form, in which an origin has no slash at its end. */
export function plainResource(resource: string, publicUrl: string): string {
  return resource === `${publicUrl}/` ? publicUrl : resource;
}

/** The name of a parameter that may be given once and is given more often (RFC 6749, 3.1). */
export function repeatedName(params: URLSearchParams): string | undefined {
  return [...params.keys()].find((name) => name !== 'resource' && params.getAll(name).length > 1);
}

/** The members of a JSON object; empty for any other text. */
export function recordIn(text: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? { ...value } : {};
  } catch {
    // The library answers some errors in words.
    return {};
  }
}

function detailIn(text: string): string {
  const { error_description: description, error, message } = recordIn(text);
  const found = [description, message, error].find((text) => typeof text === 'string');
  return typeof found === 'string' ? found : 'The request cannot be understood.';
}

function loginFirst(original: string): Authorization {
  const params = new URLSearchParams(original);
  // Whoever comes back has signed in, so a second prompt is removed.
  const prompts = scopesIn(params.get('prompt')).filter((prompt) => prompt !== 'login');
  if (prompts.length > 0) params.set('prompt', prompts.join(' '));
  else params.delete('prompt');
  params.delete('max_age');
  return { to: 'login', next: `/api/auth${authorizePath}?${params.toString()}` };
}

/** A name that strangers chose, made fit to stand in a sentence. */
function shownName(name: unknown, instead: string): string {
  const plain = typeof name === 'string' ? name.replace(/[\p{C}\p{Z}]+/gu, ' ').trim() : '';
  if (plain === '') return instead;
  return plain.length > nameMax ? `${plain.slice(0, nameMax - 1)}…` : plain;
}
