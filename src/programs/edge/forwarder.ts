/**
 * Owns the way of one request, or one WebSocket, through the edge to an app and back.
 *
 * 1. Every request is routed by itself, even on a connection that carried others before.
 * 2. If an app's target did not begin to take a request, the edge tries the app's other targets. A request
 *    that an app may have begun to work on is sent again only if its method is safe and it has no body.
 * 3. Every failure is answered once, or the connection is closed. So is every answer that cannot be passed
 *    on: whatever an app sends, it costs that app's exchange.
 */
import type { ClientRequest, IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';
import type { ProxyServer } from 'httpxy';

import type { Tenants } from '../../protocol/edge-messages.ts';
import type { Logger } from '../../lib/log.ts';
import { boundInterim, isPassable } from './app-answers.ts';
import { exchange } from './exchange.ts';
import { loadProxyServer } from './lean-http.ts';
import {
  maintenanceNotice,
  type Notice,
  noticeOf,
  rawNotice,
  redirectNotice,
  sendNotice,
  vacancyNotice,
} from './pages.ts';
import {
  hasBody,
  isWebSocketUpgrade,
  keepsConnection,
  readHost,
  requestHead,
  upgradeHead,
} from './request-head.ts';
import type { LiveRoute, Routes } from './routes.ts';
import { RequestTurns } from './request-turns.ts';
import { SingleAgent, Upstreams } from './upstreams.ts';

const upgradeMs = 30_000;
const triesMax = 4;
/** Where an authority looks over plain HTTP for what it was promised (RFC 8555, 8.3). */
const challengePath = '/.well-known/acme-challenge/';
const safeMethods = new Set(['GET', 'HEAD', 'OPTIONS']);

interface ForwarderParts {
  routes: Routes;
  tenants: Tenants;
  logger: Logger;
  /** Where a host is that has a certificate; undefined: on HTTP alone. */
  secureOrigin: (host: string) => string | undefined;
}

export class Forwarder {
  readonly #routes: Routes;
  readonly #logger: Logger;
  readonly #secureOrigin: ForwarderParts['secureOrigin'];
  readonly #proxy: ProxyServer;
  readonly #upstreams: Upstreams;
  readonly #turns = new RequestTurns();
  #isDraining = false;

  private constructor(
    { routes, tenants, logger, secureOrigin }: ForwarderParts,
    proxy: ProxyServer,
  ) {
    this.#routes = routes;
    this.#logger = logger;
    this.#secureOrigin = secureOrigin;
    this.#proxy = proxy;
    this.#upstreams = new Upstreams(tenants, (target) => routes.has(target));
    proxy.on('proxyReqWs', refuseImpassable);
  }

  static async create(parts: ForwarderParts): Promise<Forwarder> {
    return new Forwarder(parts, await loadProxyServer());
  }

  async request(req: IncomingMessage, res: ServerResponse): Promise<void> {
    const found = this.#resolve(req);
    if ('notice' in found) {
      sendNotice(res, found.notice);
      return;
    }
    const { route } = found;
    const targets = this.#routes.balancer.order(route.targets);
    const keeps = keepsConnection(req) && !this.#isDraining;
    const head = requestHead(req);
    let taken = false;
    for (let tries = 0; tries < triesMax; tries++) {
      const target = targets[tries % targets.length];
      if (!target) break;
      const turn = this.#turns.wait(target);
      if (turn !== undefined) {
        await turn;
        if (res.destroyed) return;
      }
      const agent = this.#upstreams.agentOf(target);
      const { balancer } = this.#routes;
      balancer.begin(target);
      const failure = await exchange(req, res, { target, agent, head, keepsConnection: keeps });
      balancer.end(target);
      if (!failure || failure.outgoing) balancer.noteTaken(target);
      if (!failure) return;
      if (res.headersSent || res.destroyed) break;
      const { error, outgoing } = failure;
      // Without `outgoing` there was no connection, so nothing of the request was sent.
      if (!outgoing) balancer.noteRefused(target);
      taken ||= outgoing !== undefined;
      const again = outgoing ? isRepeatable(req, outgoing) : tries + 1 < targets.length;
      this.#logger.debug({ port: target.port, err: error, again }, 'edge_request_failed');
      if (!again) break;
    }
    sendNotice(res, taken ? noticeOf(502, route) : refusal(route));
  }

  async upgrade(req: IncomingMessage, socket: Socket, head: Buffer): Promise<void> {
    socket.on('error', () => undefined); // 'close' follows and ends the other side.
    const found = isWebSocketUpgrade(req) ? this.#resolve(req) : { notice: noticeOf(400) };
    if ('notice' in found) {
      socket.end(rawNotice(req, found.notice));
      return;
    }
    const upstream = await this.#connectFirst(found.route);
    if (!upstream || socket.destroyed) {
      upstream?.destroy();
      socket.end(rawNotice(req, refusal(found.route)));
      return;
    }
    socket.once('close', () => upstream.destroy());
    upstream.once('close', () => socket.destroySoon());
    req.headers = upgradeHead(req);
    const { remoteAddress, remotePort } = upstream;
    const target = { protocol: 'http:', host: remoteAddress ?? '', port: remotePort ?? 0 };
    const agent = new SingleAgent(upstream);
    try {
      await this.#proxy.ws(req, socket, { target, agent, upgradeTimeout: upgradeMs }, head);
    } catch (error) {
      this.#logger.debug({ err: error }, 'edge_upgrade_failed');
      socket.destroySoon();
    }
  }

  /** From now on each answer is the last of its connection. */
  drain(): void {
    this.#isDraining = true;
  }

  close(): void {
    this.#upstreams.close();
  }

  /** Where the request may go, or the answer in its place. */
  #resolve(req: IncomingMessage): { route: LiveRoute } | { notice: Notice } {
    const host = readHost(req);
    const target = req.url ?? '';
    // The absolute form names a second host; apps and edge could believe different ones.
    if (host === undefined || !(target.startsWith('/') || target === '*')) {
      return { notice: noticeOf(400) };
    }
    const route = this.#routes.find(host);
    if (!route) return { notice: noticeOf(404) };
    const elsewhere = elsewhereOf(req, host, this.#secureOrigin);
    if (elsewhere) return { notice: elsewhere };
    if (route.settings.maintenance) return { notice: maintenanceNotice(route) };
    return route.targets.length > 0 ? { route } : { notice: vacancyNotice(route) };
  }

  async #connectFirst({ targets }: LiveRoute): Promise<Socket | undefined> {
    for (const target of this.#routes.balancer.order(targets).slice(0, triesMax)) {
      await this.#turns.wait(target);
      try {
        return await this.#upstreams.connect(target);
      } catch (error) {
        this.#routes.balancer.noteRefused(target);
        this.#logger.debug({ port: target.port, err: error }, 'edge_connect_failed');
      }
    }
    return undefined;
  }
}

/** The answer when no target took a connection. The reason may be known. */
function refusal(route: LiveRoute): Notice {
  return route.vacancy === undefined ? noticeOf(502, route) : vacancyNotice(route);
}

/** The answer to a request that is to come over HTTPS, or over a connection that was made for its host. */
function elsewhereOf(
  { socket, url = '' }: IncomingMessage,
  host: string,
  secureOrigin: ForwarderParts['secureOrigin'],
): Notice | undefined {
  if ('servername' in socket) {
    const { servername } = socket as TLSSocket & { servername: string };
    return servername.toLowerCase() === host ? undefined : noticeOf(421);
  }
  if (url.startsWith(challengePath)) return undefined;
  const origin = secureOrigin(host);
  return origin === undefined ? undefined : redirectNotice(`${origin}${url}`);
}

/** Answers in the app's place when that fails, or answers what cannot be passed on, to an upgrade. */
function refuseImpassable(outgoing: ClientRequest, req: IncomingMessage, socket: Socket): void {
  let headIsOut = false;
  const refuse = (): void => {
    if (!headIsOut && socket.writable) socket.end(rawNotice(req, noticeOf(502)));
  };
  boundInterim(outgoing);
  outgoing.on('error', refuse);
  outgoing.once('upgrade', () => {
    headIsOut = true;
  });
  outgoing.once('response', (answer) => {
    if (isPassable(answer)) {
      headIsOut = true;
      return;
    }
    refuse();
    answer.destroy();
  });
}

/** Whether a failed request may be sent again: the app may have closed its kept connection just then. */
function isRepeatable(req: IncomingMessage, outgoing: ClientRequest): boolean {
  return outgoing.reusedSocket && safeMethods.has(req.method ?? '') && !hasBody(req);
}
