/**
 * Owns OAuth over HTTP: the discovery documents and the routes under `/api/auth/oauth2/`. No other route of
 * `/api/auth/` exists.
 *
 * 1. Discovery, registration and clients' own requests answer any origin, without cookies: a page of
 *    another site can learn and do no more than a program could. Authorization does not answer other
 *    origins.
 * 2. Registration is the one write without a credential: it is small, and limited for each network.
 * 3. Errors for clients are JSON as in RFC 6749; limits are problem documents, as everywhere.
 */
import { issuerOf, resourceMetadata, serverMetadata } from '../../auth/oauth/metadata.ts';
import type { EndpointAnswer } from '../../auth/oauth/endpoints.ts';
import type { OAuth } from '../../auth/oauth/oauth.ts';
import { ServiceError } from '../../lib/errors.ts';
import { networkOf } from '../../lib/networks.ts';
import type { RateLimit } from '../../lib/rate-limit.ts';
import { mediaTypeOf } from '../http/accept.ts';
import type { Exchange, Headers, Route } from '../transport.ts';
import { type ConsentOptions, consentRoutes } from './oauth-consent.ts';

export interface OAuthRoutesOptions extends ConsentOptions {
  oauth: OAuth;
  publicUrl: () => string;
  /** Registrations by network. */
  registrations: RateLimit;
}

const bodyMax = 16 * 1024;
const formType = 'application/x-www-form-urlencoded';

const anyOrigin = {
  'Access-Control-Allow-Origin': '*',
  'Access-Control-Expose-Headers': 'WWW-Authenticate, Retry-After',
} as const;

const preflight = {
  'Access-Control-Allow-Origin': '*',
  'Access-Control-Allow-Methods': 'GET, POST, OPTIONS',
  'Access-Control-Allow-Headers': 'Authorization, Content-Type, MCP-Protocol-Version',
  'Access-Control-Max-Age': '86400',
} as const;

export function oauthRoutes(options: OAuthRoutesOptions): Route[] {
  const { oauth, publicUrl, registrations } = options;
  const { endpoints } = oauth;
  const userinfo: Answering = (exchange) => endpoints.userinfo(exchange.header('authorization'));
  const register: Answering = async (exchange) => {
    const retryAfterS = registrations.take(networkOf(exchange.address));
    if (retryAfterS > 0) {
      const said = 'Too many clients from here.';
      // The problem also has OAuth's own fields, because clients show nothing else to people.
      const extensions = { error: 'too_many_requests', error_description: said };
      throw new ServiceError('RATE_LIMITED', said, { retryAfterS, extensions });
    }
    mustBe(exchange, 'application/json');
    return endpoints.register((await exchange.body(bodyMax)).toString('utf8'));
  };
  return [
    ...discoveryRoutes(publicUrl),
    ...consentRoutes(options),
    ...['register', 'token', 'revoke', 'introspect', 'userinfo'].map((name) =>
      preflightOf(pathOf(name)),
    ),
    clientRoute('POST', 'register', register),
    clientRoute('POST', 'token', async (one) => endpoints.token(await clientForm(one))),
    {
      ...clientRoute('POST', 'revoke', async (one) => endpoints.revoke(await clientForm(one))),
      audit: 'oauth_revoke',
    },
    clientRoute('POST', 'introspect', async (one) => endpoints.introspect(await clientForm(one))),
    clientRoute('GET', 'userinfo', userinfo),
    // A form may come with the request (OpenID Connect Core, 5.3.1); nothing in it is needed.
    clientRoute('POST', 'userinfo', async (exchange) => {
      await exchange.body(bodyMax);
      return userinfo(exchange);
    }),
  ];
}

function discoveryRoutes(publicUrl: () => string): Route[] {
  const server = '/.well-known/oauth-authorization-server';
  const openid = '/.well-known/openid-configuration';
  const resource = '/.well-known/oauth-protected-resource';
  const issuerPath = new URL(issuerOf('http://any')).pathname;
  const serverPaths = [
    server,
    server + issuerPath,
    openid,
    openid + issuerPath,
    issuerPath + openid,
  ];
  return [
    ...serverPaths.flatMap((path) => discovery(path, () => serverMetadata(publicUrl()))),
    ...[resource, `${resource}/api/mcp`].flatMap((path) =>
      discovery(path, () => resourceMetadata(publicUrl())),
    ),
  ];
}

function discovery(path: string, document: () => unknown): Route[] {
  const headers = { ...anyOrigin, 'Cache-Control': 'public, max-age=60' };
  const handle = (exchange: Exchange): void => exchange.json(200, document(), headers);
  return [preflightOf(path), { method: 'GET', path, handle }];
}

type Answering = (exchange: Exchange) => Promise<EndpointAnswer>;

function pathOf(name: string): string {
  return `/api/auth/oauth2/${name}`;
}

/** These routes are not recorded: clients register for no team, and tokens renew what a consent began. */
function clientRoute(method: 'GET' | 'POST', name: string, answer: Answering): Route {
  return {
    method,
    path: pathOf(name),
    audit: null,
    handle: async (exchange) => {
      for (const [header, value] of Object.entries(anyOrigin)) exchange.addHeader(header, value);
      const { status, headers, body } = await answer(exchange);
      const all: Headers = { ...headers, 'Cache-Control': 'no-store', Pragma: 'no-cache' };
      if (body === null) exchange.send(status, all, '');
      else exchange.json(status, body, all);
    },
  };
}

function preflightOf(path: string): Route {
  return {
    method: 'OPTIONS',
    path,
    handle: (exchange) => exchange.send(204, preflight, ''),
  };
}

async function clientForm(
  exchange: Exchange,
): Promise<{ form: URLSearchParams; authorization: string }> {
  mustBe(exchange, formType);
  const form = new URLSearchParams((await exchange.body(bodyMax)).toString('utf8'));
  return { form, authorization: exchange.header('authorization') };
}

function mustBe(exchange: Exchange, wanted: string): void {
  if (mediaTypeOf(exchange) !== wanted)
    throw new ServiceError('UNSUPPORTED_MEDIA_TYPE', `Send ${wanted}.`);
}
