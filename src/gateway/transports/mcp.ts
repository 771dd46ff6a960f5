/**
 * Owns `POST /api/mcp`: the Model Context Protocol over HTTP. `docs/behaviour.md` gives the order of the
 * checks.
 *
 * 1. The team's settings are checked again after a body that took long.
 * 2. Nothing heavy is loaded for a caller without a token.
 */
import { mcpResource } from '../../auth/oauth/metadata.ts';
import type { Authenticator } from '../../auth/callers/authenticator.ts';
import { callerOf } from '../../auth/callers/principal.ts';
import { asServiceError, ServiceError } from '../../lib/errors.ts';
import type { Logger } from '../../lib/log.ts';
import type { Limit } from '../../lib/rate-limit.ts';
import type { McpAnswer } from '../../mcp/answer.ts';
import { asksToRead } from '../../mcp/catalog.ts';
import type { McpPrincipal } from '../../mcp/tool.ts';
import type { Rights } from '../../mcp/rights.ts';
import type { McpServer } from '../../mcp/server.ts';
import type { Exchange, Headers, Route } from '../transport.ts';
import { mediaTypeOf } from '../http/accept.ts';
import type { Callers } from '../credentials.ts';
import type { McpStreams } from './mcp-streams.ts';

export interface McpRoutesOptions {
  /** Loads the server with the first request that has a token. */
  server: () => McpServer | Promise<McpServer>;
  rights: Rights;
  callers: Pick<Callers, 'bearer' | 'refuseForeignOrigin'>;
  authenticator: Pick<Authenticator, 'stillValid'>;
  /** By token. */
  rate: Limit;
  streams: McpStreams;
  publicUrl: () => string;
  logger: Logger;
  /** Bytes of a message; default 4 MiB. */
  bodyMax?: number;
}

const jsonHeaders: Headers = Object.freeze({
  'Content-Type': 'application/json',
  'Cache-Control': 'no-store',
});

export function mcpRoutes(options: McpRoutesOptions): Route[] {
  const transport = new McpTransport(options);
  return [
    // Tools that change something run mutations, which are recorded.
    { method: 'POST', path, audit: null, handle: (exchange) => transport.handle(exchange) },
    { method: 'OPTIONS', path, handle: (exchange) => transport.preflight(exchange) },
  ];
}

const path = '/api/mcp';
const bytesOfOneCall = 512 * 1024;

/** The scopes that a client without a token is told to request when it only reads. */
const readingScopes = ['view_logs', 'manage_env'];
/** The scopes of all tools together, so that one consent is enough. The person removes what is too much. */
const toolScopes = [
  'create_apps', 'deploy_apps', 'control_apps', 'delete_apps', 'manage_env', 'view_logs',
]; // prettier-ignore

const preflightHeaders: Headers = Object.freeze({
  'Access-Control-Allow-Methods': 'POST, OPTIONS',
  'Access-Control-Allow-Headers':
    'Authorization, Content-Type, MCP-Protocol-Version, Mcp-Method, Mcp-Name, Mcp-Session-Id, ' +
    'Last-Event-ID, X-Service-Team, traceparent',
  'Access-Control-Max-Age': '7200',
});

class McpTransport {
  readonly #options: McpRoutesOptions;

  constructor(options: McpRoutesOptions) {
    this.#options = options;
  }

  handle(exchange: Exchange): void {
    const principal = this.#admit(exchange);
    requireJson(exchange);
    const { server, bodyMax = 4 * 1024 * 1024 } = this.#options;
    exchange.lendBody(
      bodyMax,
      (lent) => {
        const loaded = server();
        const body = loaded instanceof Promise ? Buffer.from(lent) : lent;
        this.#settled(exchange, loaded, (one) => this.#take(exchange, principal, one, body));
      },
      (reason) => exchange.problem(reason),
    );
  }

  /** Answers a browser's preflight for a page, such as an inspector on this machine. */
  preflight(exchange: Exchange): void {
    this.#allowOrigin(exchange);
    exchange.send(204, preflightHeaders, '');
  }

  /** Throws CROSS_SITE. A page whose Origin is ours may read the answer. */
  #allowOrigin(exchange: Exchange): void {
    this.#options.callers.refuseForeignOrigin(exchange);
    const origin = exchange.header('origin');
    if (origin === '') return;
    exchange.addHeader('Access-Control-Allow-Origin', origin);
    exchange.addHeader('Access-Control-Expose-Headers', 'WWW-Authenticate, Retry-After');
    exchange.addHeader('Vary', 'Origin');
  }

  /** The caller, once its right to this endpoint is checked. */
  #admit(exchange: Exchange): McpPrincipal {
    const { callers, rights, rate } = this.#options;
    this.#allowOrigin(exchange);
    const principal = callers.bearer(exchange, () => this.#challenge(exchange), 'mcp');
    const retryAfterS = rate.take(callerOf(principal));
    if (retryAfterS > 0) {
      throw new ServiceError('RATE_LIMITED', 'This token called too often.', { retryAfterS });
    }
    return rights.admit(principal);
  }

  #challenge(exchange: Exchange): string {
    const reads = asksToRead(exchange.query);
    const scope = [...(reads ? readingScopes : toolScopes), 'offline_access'].join(' ');
    return `resource_metadata="${resourceMetadataUrl(this.#options.publicUrl())}", scope="${scope}"`;
  }

  #take(exchange: Exchange, principal: McpPrincipal, server: McpServer, body: Uint8Array): void {
    if (exchange.aborted) return;
    const { rights, rate } = this.#options;
    rate.charge(callerOf(principal), Math.floor(body.length / bytesOfOneCall));
    rights.admit(principal);
    const answer = server.answer(
      {
        body,
        header: (name) => exchange.header(name),
        principal,
        query: exchange.query.toString(),
        takesEvents: exchange.header('accept').includes('text/event-stream'),
        caller: exchange,
      },
      (note) => exchange.note(note),
    );
    this.#settled(exchange, answer, (one) => this.#send(exchange, principal, one));
  }

  #send(exchange: Exchange, principal: McpPrincipal, answer: McpAnswer): void {
    if (exchange.aborted) return;
    switch (answer.kind) {
      case 'json':
        exchange.send(answer.status, jsonHeaders, answer.body);
        return;
      case 'ready':
        exchange.send(200, jsonHeaders, answer.result.response(answer.id));
        return;
      case 'accepted':
        exchange.send(202, noStore, '');
        return;
      case 'events':
        this.#settled(
          exchange,
          this.#options.streams.run(exchange, answer, principal),
          () => undefined,
        );
        return;
      case 'listen':
        this.#options.streams.listen(exchange, answer, principal, () => this.#mayStay(principal));
    }
  }

  /** Continues with the value, synchronously when it is no promise. An error becomes the answer. */
  #settled<T>(exchange: Exchange, value: T | Promise<T>, next: (value: T) => void): void {
    const fail = (error: unknown): void => this.#fail(exchange, error);
    if (value instanceof Promise) {
      value.then(next).catch(fail);
      return;
    }
    try {
      next(value);
    } catch (error) {
      fail(error);
    }
  }

  #mayStay(principal: McpPrincipal): boolean {
    const { authenticator, rights } = this.#options;
    if (!authenticator.stillValid(principal)) return false;
    try {
      rights.admit(principal);
      return true;
    } catch (error) {
      if (error instanceof ServiceError) return false;
      throw error;
    }
  }

  #fail(exchange: Exchange, thrown: unknown): void {
    if (exchange.aborted) return;
    const error = asServiceError(thrown);
    if (error.code === 'INTERNAL') {
      const { requestId } = exchange;
      this.#options.logger.error({ err: thrown, requestId }, 'mcp_request_failed');
    }
    exchange.problem(error);
  }
}

const noStore: Headers = Object.freeze({ 'Cache-Control': 'no-store' });

/** The address of the MCP endpoint's metadata as a protected resource (RFC 9728). */
export function resourceMetadataUrl(publicUrl: string): string {
  const { pathname } = new URL(mcpResource(publicUrl));
  return `${publicUrl}/.well-known/oauth-protected-resource${pathname}`;
}

function requireJson(exchange: Exchange): void {
  const encoding = exchange.header('content-encoding');
  if (mediaTypeOf(exchange) === 'application/json' && (encoding === '' || encoding === 'identity'))
    return;
  throw new ServiceError('UNSUPPORTED_MEDIA_TYPE', 'Send application/json, not encoded.', {
    headers: { 'Accept-Post': 'application/json' },
  });
}
