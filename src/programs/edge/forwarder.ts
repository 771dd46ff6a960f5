/**
 * Owns where a request goes.
 *
 * 1. Every request is routed by itself, even on a connection that carried others before.
 * 2. What an app could take for another host than the edge does is refused.
 */
import type { Target, Tenants } from '../../protocol/edge-messages.ts';
import type { Balancer } from '../../lib/balancer.ts';
import type { InNetworks } from '../../lib/networks.ts';
import type { Logger } from '../../lib/log.ts';
import type { AccessLog, Ended } from './access-lines.ts';
import { challengeAnswer, challengePath } from './challenge.ts';
import { Exchange, type ExchangeHost } from './exchange.ts';
import { forwardedLines, protoOf, visitorOf } from './forwarded.ts';
import type { RequestHead } from './http1/request-head.ts';
import { bareNotice, type Notice, noticeOf, redirectNotice, uncertifiedNotice } from './pages.ts';
import { RequestTurns } from './request-turns.ts';
import type { LiveRoute, Routes } from './routes.ts';
import { type Upstream, Upstreams } from './upstreams.ts';
import type { Visit } from './visit.ts';
import type { Watch } from './watch.ts';

/** Methods by which nobody expects a body. */
const bodiless: ReadonlySet<string> = new Set(['GET', 'HEAD', 'TRACE']);

export interface ForwarderOptions {
  routes: Routes;
  tenants: Tenants;
  logger: Logger;
  watch: Watch;
  isTrusted: InNetworks;
  accessLog: AccessLog;
  /** Counts what is answered here, by its status. */
  answered: (status: number) => void;
  /** Where a host is that has a certificate; undefined: on HTTP alone. */
  secureOrigin: (host: string) => string | undefined;
  /** Where a host is on HTTP. */
  plainOrigin: (host: string) => string;
}

export class Forwarder implements ExchangeHost {
  readonly turns = new RequestTurns();
  readonly #options: ForwarderOptions;
  readonly #routes: Routes;
  readonly #upstreams: Upstreams;
  /** Of the request before: most come for the same host. */
  #last: { host: string; name: string | undefined } = { host: '', name: undefined };

  constructor(options: ForwarderOptions) {
    const { routes, tenants, watch } = options;
    this.#options = options;
    this.#routes = routes;
    this.#upstreams = new Upstreams({ tenants, watch, isWanted: (target) => routes.has(target) });
  }

  get watch(): Watch {
    return this.#options.watch;
  }

  get balancer(): Balancer<Target> {
    return this.#routes.balancer;
  }

  begin(visit: Visit): void {
    const { host, target } = visit.head;
    const name = this.#nameOf(host);
    // What is left of the absolute form names another host.
    if (name === undefined || !(target.startsWith('/') || target === '*')) {
      this.#answer(visit, noticeOf(400));
      return;
    }
    const route = this.#routes.find(name);
    const own = route && this.#ownAnswer(visit, name, route);
    if (route === undefined) this.#answer(visit, noticeOf(404));
    else if (own !== undefined) this.#answer(visit, own);
    else new Exchange(visit, this, route).begin();
  }

  close(): void {
    this.#upstreams.close();
  }

  #nameOf(host: string): string | undefined {
    if (host !== this.#last.host) this.#last = { host, name: hostName(host) };
    return this.#last.name;
  }

  #answer(visit: Visit, notice: Notice): void {
    this.#options.answered(notice.status);
    visit.notice(notice);
  }

  upstreamOf(target: Target): Upstream {
    return this.#upstreams.of(target);
  }

  headFor({ head, origin }: Visit, requestId: string): string {
    const { method, target, host, fields } = head;
    return (
      `${method} ${target} HTTP/1.1\r\nhost: ${host}\r\n${fields}x-request-id: ${requestId}\r\n` +
      `${forwardedLines(head, origin, this.#options.isTrusted)}${connectionLines(head)}\r\n`
    );
  }

  cameByHttps({ head, origin }: Visit): boolean {
    return protoOf(head, origin, this.#options.isTrusted) === 'https';
  }

  failed({ port }: Target, request: string, err: unknown, again: boolean): void {
    this.#options.logger.debug({ port, request, err, again }, 'edge_request_failed');
  }

  log(app: string, { head, origin }: Visit, ended: Ended): void {
    const { accessLog, isTrusted } = this.#options;
    const { method, target, host, fields } = head;
    const address = visitorOf(head, origin, isTrusted);
    const version = origin.version ?? (head.isOld ? '1.0' : '1.1');
    accessLog.add(app, { ...ended, address, method, target, version, host, fields });
  }

  /**
   * The answer to an authority that issues certificates, and to a request that is to come over HTTPS, over a connection
   * that was made for its host, or to another host.
   */
  #ownAnswer(visit: Visit, name: string, route: LiveRoute): Notice | undefined {
    const { head, origin } = visit;
    if (origin.servername !== undefined && origin.servername !== name) return noticeOf(421);
    if (origin.servername === undefined) {
      const answer = challengeAnswer(route, head.target);
      if (answer !== undefined) return bareNotice(answer);
      const isChallenge = route.panel === undefined && head.target.startsWith(challengePath);
      if (isChallenge) return undefined;
      const secure = this.#options.secureOrigin(name);
      const isPlain = !this.cameByHttps(visit);
      if (isPlain && route.panel !== undefined) return plainPanelNotice(visit, route.panel, secure);
      if (isPlain && secure !== undefined) return redirectNotice(secure + pathOf(visit));
    }
    const { redirectTo } = route;
    if (redirectTo === undefined) return undefined;
    return redirectNotice(this.#otherOrigin(redirectTo, visit) + pathOf(visit));
  }

  /** Without a certificate here it is where the visit came, unless that was the edge's own HTTPS. */
  #otherOrigin(host: string, visit: Visit): string {
    const { secureOrigin, plainOrigin } = this.#options;
    const secure = secureOrigin(host);
    if (secure !== undefined) return secure;
    const { head, origin } = visit;
    if (origin.servername !== undefined) return plainOrigin(host);
    const port = /:\d+$/.exec(head.host)?.[0] ?? '';
    return `${this.cameByHttps(visit) ? 'https' : 'http'}://${host}${port}`;
  }
}

/** What is meant for the panel goes over HTTPS or nowhere: passwords are sent there. */
function plainPanelNotice(
  visit: Visit,
  { origin }: NonNullable<LiveRoute['panel']>,
  secure: string | undefined,
): Notice {
  return secure === undefined ? uncertifiedNotice() : redirectNotice(origin + pathOf(visit));
}

function pathOf({ head: { target } }: Visit): string {
  return target === '*' ? '/' : target;
}

/** Lower-case name without port; undefined: it can be none. */
function hostName(host: string): string | undefined {
  const match = /^([a-z0-9._-]+|\[[0-9a-f:.]+\])\.?(?::\d{1,5})?$/i.exec(host);
  return match?.[1]?.toLowerCase().replace(/\.$/, '');
}

/** What says how the body ends, and what becomes of the connection. */
function connectionLines({
  method,
  body,
  expectsContinue,
  isWebSocketUpgrade,
}: RequestHead): string {
  if (isWebSocketUpgrade) return 'connection: upgrade\r\nupgrade: websocket\r\n';
  const expect = expectsContinue ? 'expect: 100-continue\r\n' : '';
  // A chunked body is the last on its connection: its end is what parsers read differently.
  if (body === 'chunked') return `${expect}transfer-encoding: chunked\r\nconnection: close\r\n`;
  // Some servers wait for a body where its length is not told.
  if (body === 0 && bodiless.has(method)) return 'connection: keep-alive\r\n';
  return `${expect}content-length: ${String(body)}\r\nconnection: keep-alive\r\n`;
}
