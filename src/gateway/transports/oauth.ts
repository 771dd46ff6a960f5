/**
 * Owns OAuth over HTTP: the discovery documents and what stands under `/api/auth/oauth2/`. Nothing
 * else of `/api/auth/` exists.
 *
 * 1. Discovery, registration and what clients ask by themselves answer any origin, without cookies:
 *    a page of another site learns and does no more than a program could. Authorization does not.
 * 2. Registration is the one write without a credential: limited for each network, and small.
 * 3. Errors of clients are JSON as RFC 6749 has them; limits are problem documents, as everywhere.
 */
import { issuerOf, resourceMetadata, serverMetadata } from '../../auth/oauth/metadata.ts';
import type { EndpointAnswer } from '../../auth/oauth/endpoints.ts';
import type { OAuth } from '../../auth/oauth/oauth.ts';
import { ServiceError } from '../../lib/errors.ts';
import { networkOf } from '../../lib/networks.ts';
import type { RateLimit } from '../../lib/rate-limit.ts';
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
  return [
    ...discoveryRoutes(publicUrl),
    ...consentRoutes(options),
    ...clientRoutes('POST', 'register', async (exchange) => {
      const retryAfterS = registrations.take(networkOf(exchange.address));
      if (retryAfterS > 0) {
        const said = 'Too many clients from here.';
        // In the words of OAuth as well: clients show nothing else to their people.
        const extensions = { error: 'too_many_requests', error_description: said };
        throw new ServiceError('RATE_LIMITED', said, { retryAfterS, extensions });
      }
      mustBe(exchange, 'application/json');
      return endpoints.register((await exchange.body(bodyMax)).toString('utf8'));
    }),
    ...clientRoutes('POST', 'token', async (one) => endpoints.token(await clientForm(one))),
    ...clientRoutes(
      'POST',
      'revoke',
      async (one) => endpoints.revoke(await clientForm(one)),
      'oauth_revoke',
    ),
    ...clientRoutes('POST', 'introspect', async (one) =>
      endpoints.introspect(await clientForm(one)),
    ),
    ...clientRoutes('GET', 'userinfo', (one) => endpoints.userinfo(one.header('authorization'))),
    // A form may come with it (OpenID Connect Core, 5.3.1); nothing in it is needed.
    clientRoute('POST', 'userinfo', async (one) => {
      await one.body(bodyMax);
      return endpoints.userinfo(one.header('authorization'));
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
  const documents: [string, () => unknown][] = [
    ...serverPaths.map((path): [string, () => unknown] => [
      path,
      () => serverMetadata(publicUrl()),
    ]),
    ...[resource, `${resource}/api/mcp`].map((path): [string, () => unknown] => [
      path,
      () => resourceMetadata(publicUrl()),
    ]),
  ];
  return documents.flatMap(([path, make]) => [
    preflightOf(path),
    {
      method: 'GET',
      path,
      handle: (exchange) => {
        exchange.json(200, make(), { ...anyOrigin, 'Cache-Control': 'public, max-age=60' });
      },
    },
  ]);
}

type Answering = (exchange: Exchange) => Promise<EndpointAnswer>;

function clientRoutes(
  method: 'GET' | 'POST',
  name: string,
  answer: Answering,
  audit?: string,
): Route[] {
  return [preflightOf(`/api/auth/oauth2/${name}`), clientRoute(method, name, answer, audit)];
}

function clientRoute(
  method: 'GET' | 'POST',
  name: string,
  answer: Answering,
  // Clients register for no team, and tokens renew what a consent began: neither is recorded.
  audit: string | null = null,
): Route {
  return {
    method,
    path: `/api/auth/oauth2/${name}`,
    audit,
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
    handle: (exchange) => {
      exchange.send(204, preflight, '');
    },
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
  const type = exchange.header('content-type').split(';')[0]?.trim().toLowerCase();
  if (type !== wanted) throw new ServiceError('UNSUPPORTED_MEDIA_TYPE', `Send ${wanted}.`);
}
