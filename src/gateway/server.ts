/**
 * Owns the routes, where it listens, and every exchange in flight.
 *
 * 1. Every request is checked (`http/refusal.ts`). Only then does a handler see it.
 * 2. `drain` refuses new connections and requests, calls the owners of streams, fails uploads with
 *    SHUTTING_DOWN, and waits for what is in flight up to a deadline. `close` drains and releases; `abort`
 *    releases now. Each may be called twice.
 * 3. A connection above `maxSockets` is refused before anything is read from it, and so is one of whoever has
 *    too many of them (`crowd.ts`).
 */
import { randomBytes } from 'node:crypto';
import { systemClock, type Clock } from '../lib/clock.ts';
import type { Logger } from '../lib/log.ts';
import { AccessLog, type LineSink } from './access-log.ts';
import { HeadBlocks } from './http/answer-head.ts';
import { networks } from '../lib/networks.ts';
import { edgePeer, textAddress } from './http/client-address.ts';
import { namesUs } from './http/own-host.ts';
import type { ConstantAnswer, Route, WebSocketRoute } from './transport.ts';
import {
  defaultLimits,
  type Ending,
  type ExchangeHost,
  type GatewayLimits,
  shortestMs,
} from './http/exchange-host.ts';
import { HttpExchange } from './http/exchange.ts';
import { HeadReader, PlainHeads, type CopiedHead } from './http/request-head.ts';
import { InFlight } from './http/in-flight.ts';
import { singleSample, type MetricFamily } from './metrics-text.ts';
import { Metrics } from './metrics.ts';
import { CorkedWrites } from './http/open-stream.ts';
import { HeldBytes } from './http/held-bytes.ts';
import { RequestBody } from './http/request-body.ts';
import { type Change, WebSockets } from './http/web-sockets.ts';
import { RouteTable } from './routes.ts';
import { type SharedSockets, Sockets, type SocketsOptions } from './sockets.ts';
import { refusing, shuttingDown } from './http/problem.ts';
import { refusalOf } from './http/refusal.ts';
import { Listeners, type SocketPlace } from './listeners.ts';
import { loadUws } from './uws.ts';
import type { HttpRequest, HttpResponse, TemplatedApp } from './uws.ts';

/** What the gateways of several threads share when they listen on one port. */
export interface SharedPort extends SharedSockets {
  /** Called on its thread before a request is checked. */
  beforeRequest(): void;
}

export interface GatewayOptions {
  host: string;
  /** 0: a free port. */
  port: number;
  routes: readonly Route[];
  /** Where connections change to WebSocket, each at the path of a GET route. */
  webSockets?: readonly WebSocketRoute[];
  logger: Logger;
  /** Takes the lines of requests in place of the logger; null: no lines are wanted. */
  accessLines?: LineSink | null;
  limits?: Partial<GatewayLimits>;
  /** Addresses and CIDRs of proxies whose X-Forwarded-* fields are believed. */
  trustedProxies?: readonly string[];
  /** The address where people reach us. Without it we are known by addresses and `localhost` only. */
  publicUrl?: () => string;
  /** Whether who asks over loopback, at this port, is no app of the machine. Absent: it does not matter. */
  ownerAlone?: (port: number) => boolean;
  metrics?: Metrics;
  clock?: Clock;
  /** Whether constant answers are logged too, at debug level; that costs a third of their speed. */
  logConstant?: boolean;
  /** Sets an environment variable, from which the HTTP library reads its limit on heads. */
  setVariable?: (name: string, value: string) => void;
  /** Where the edge brings visitors; absent or null: it brings none. */
  edgeSocket?: SocketPlace | null;
  /** Where what came of bodies is held before anybody takes it; absent: in memory. */
  heldDir?: string;
  /** Set when gateways of other threads listen on the same port, which then is not 0. */
  shared?: SharedPort | null;
  /** Makes limits that hold over all threads. Default: limits of this thread. */
  newLimit?: SocketsOptions['newLimit'];
}

type Phase = 'new' | 'serving' | 'draining' | 'closed';
type DrainHook = () => void | Promise<void>;

const noParams = Object.freeze({});

export class Gateway {
  readonly metrics: Metrics;
  readonly limits: GatewayLimits;
  readonly #options: GatewayOptions;
  readonly #clock: Clock;
  readonly #log: AccessLog;
  readonly #routes = new RouteTable();
  readonly #inFlight: InFlight;
  readonly #drainHooks = new Set<DrainHook>();
  readonly #host: ExchangeHost<HttpExchange>;
  readonly #sockets: Sockets;
  readonly #webSockets: WebSockets;
  readonly #heads = new HeadReader();
  readonly #plain = new PlainHeads();
  readonly #held: HeldBytes;
  readonly #idPrefix = randomBytes(6).toString('hex');
  #phase: Phase = 'new';
  readonly #listeners: Listeners;
  #requests = 0;
  /** Where it listens. */
  #port = 0;
  #draining: Promise<void> | undefined;

  constructor(options: GatewayOptions) {
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    this.#held = new HeldBytes(options.heldDir ?? null);
    this.metrics = options.metrics ?? new Metrics();
    this.limits = { ...defaultLimits, ...options.limits };
    const { logger, accessLines: lines } = options;
    this.#log = new AccessLog({ logger, clock: this.#clock, lines });
    this.#inFlight = new InFlight(this.#clock, (work) => this.#guarded(work));
    this.#host = this.#hostOfExchanges();
    this.#sockets = this.#newSockets();
    this.#webSockets = this.#newWebSockets();
    const { host, port, shared, edgeSocket: edge = null } = options;
    this.#listeners = new Listeners({
      ...{ host, port, isShared: shared != null, edge },
      prepare: (app, peer) => this.#prepare(app, peer),
    });
    this.metrics.register(() => this.#families());
    for (const route of options.routes) this.#routes.add(route);
    const routes = options.routes.map(({ method, path }) => `${method} ${path}`);
    logger.debug({ routes }, 'gateway_routes');
  }

  /** Adds a hook that is called once, when a drain begins, to end streams. The drain waits for it. */
  onDrain(hook: DrainHook): void {
    this.#drainHooks.add(hook);
  }

  async listen(): Promise<{ port: number }> {
    if (this.#phase !== 'new') throw new Error(`Cannot listen: the gateway is ${this.#phase}`);
    // The library counts a little differently and refuses without a problem document. Its limit is twice
    // ours, so that ours refuses first.
    const uws = await loadUws(this.limits.headerBytes * 2, this.#options.setVariable);
    this.#port = await this.#listeners.listen(uws);
    this.#phase = 'serving';
    this.#inFlight.watch(shortestMs(this.limits));
    return { port: this.#port };
  }

  /** `peer`: who is at the other end of all connections; null: anybody. */
  #prepare(app: TemplatedApp, peer: string | null): void {
    app.filter((response, change) => {
      this.#guarded(() => this.#socketChanged(response, change, peer));
    });
    for (const { path, constant } of this.#options.routes) {
      if (constant !== undefined) this.#addConstant(app, path, constant, peer);
    }
    for (const route of this.#options.webSockets ?? []) {
      app.ws(route.path, this.#webSockets.behavior(route, peer));
    }
    app.any('/*', (response, request) => this.#anyRequest(response, request, peer));
  }

  drain(): Promise<void> {
    this.#draining ??= this.#drain();
    return this.#draining;
  }

  async close(): Promise<void> {
    await this.drain();
    this.abort();
  }

  abort(): void {
    if (this.#phase === 'closed') return;
    this.#phase = 'closed';
    this.#listeners.close();
    this.#inFlight.stop();
    this.#held.close();
    this.#log.flush();
  }

  async #drain(): Promise<void> {
    if (this.#phase !== 'serving') return;
    this.#phase = 'draining';
    this.#listeners.refuse();
    this.#inFlight.refuseBodies(shuttingDown());
    for (const hook of this.#drainHooks) void this.#runHook(hook);
    const { drainMs } = this.limits;
    await Promise.all([this.#inFlight, this.#webSockets].map((all) => all.emptyWithin(drainMs)));
    // The last answer may still be in the library's cork.
    await new Promise(setImmediate);
    this.#log.flush();
    const requests = this.#inFlight.size;
    const webSockets = this.#webSockets.size;
    if (requests + webSockets === 0) return;
    this.#options.logger.warn({ requests, webSockets }, 'gateway_drain_cut');
    this.#inFlight.abortAll();
    this.#webSockets.cutAll();
  }

  async #runHook(hook: DrainHook): Promise<void> {
    try {
      await hook();
    } catch (error) {
      this.#options.logger.error({ err: error }, 'gateway_drain_hook');
    }
  }

  /** The library matches the path itself, which is faster than our own table. */
  #addConstant(
    app: TemplatedApp,
    path: string,
    { headers, body }: ConstantAnswer,
    peer: string | null,
  ): void {
    const counts = this.metrics.route(path, 'GET');
    const { first, rest } = this.#host.blocks.fixed(headers);
    app.get(path, (response, request) => {
      if (
        this.#phase !== 'serving' ||
        this.#options.logConstant === true ||
        this.#sockets.isCrowded ||
        !this.#plain.isPlain(request)
      ) {
        this.#onRequest(response, request, peer);
        return;
      }
      response.writeHeader(first, rest);
      response.end(body);
      counts.count(200, false, body.length, null);
    });
  }

  /** An error that reached the library would end the process, and with it all connections. */
  #guarded(work: () => void): boolean {
    try {
      work();
      return true;
    } catch (error) {
      this.#bug(error);
      return false;
    }
  }

  #bug(error: unknown): void {
    this.#options.logger.error({ err: error }, 'gateway_bug');
  }

  #anyRequest(
    response: HttpResponse,
    request: HttpRequest,
    peer: string | null,
    change?: Change,
  ): void {
    if (!this.#guarded(() => this.#onRequest(response, request, peer, change))) response.close();
  }

  #onRequest(
    response: HttpResponse,
    request: HttpRequest,
    known: string | null,
    change?: Change,
  ): void {
    this.#options.shared?.beforeRequest();
    const path = request.getUrl();
    const method = request.getCaseSensitiveMethod();
    const head = this.#heads.read(request, path);
    const match = this.#routes.match(method, path);
    const isServing = this.#phase === 'serving';
    const { headerBytes } = this.limits;
    const refused = refusalOf(head, match, { headerBytes, isServing });
    const found = match.kind === 'found' ? match : undefined;
    const template = match.kind === 'otherMethod' ? match.path : (found?.route.path ?? '');
    // The end of a chunked body may be ambiguous: no second request is read after it.
    const chunked = head.framing.kind === 'chunked' || head.framing.kind === 'refused';
    const body = this.#bodyOf(response, head);
    const peer = known ?? this.#sockets.only ?? peerOf(response);
    const exchange = new HttpExchange(response, this.#host, {
      route: found?.route,
      method,
      params: found?.params ?? noParams,
      head,
      body,
      peer,
      doubtful: head.framing.kind === 'refused',
      lastOnConnection:
        chunked || refused?.code === 'HEADERS_TOO_LARGE' || this.#sockets.mustYield(peer),
      counts: this.metrics.route(template, method),
    });
    this.#track(exchange, response);
    if (body !== undefined) {
      response.onData((chunk, last) => {
        this.#guarded(() => exchange.received(chunk, last));
      });
    }
    const { route } = found ?? {};
    if (refused !== undefined || route === undefined) exchange.run(refusing(refused, route));
    else exchange.run(change === undefined ? route : { handle: () => change(exchange) });
  }

  /** A body whose framing is refused counts as endless: some of it is read, then the connection is cut. */
  #bodyOf(response: HttpResponse, head: CopiedHead): RequestBody | undefined {
    if (head.framing.kind === 'none') return undefined;
    const framing = head.framing.kind === 'refused' ? ({ kind: 'chunked' } as const) : head.framing;
    return new RequestBody(response, framing, this.limits, this.#host.now, this.#held);
  }

  #track(exchange: HttpExchange, response: HttpResponse): void {
    this.#inFlight.add(exchange);
    response.onAborted(() => this.#guarded(() => exchange.clientLeft()));
  }

  #hostOfExchanges(): ExchangeHost<HttpExchange> {
    const closing = (): boolean => this.#phase !== 'serving';
    const clock = this.#clock;
    const isProxy = networks(this.#options.trustedProxies ?? []);
    return {
      limits: this.limits,
      logger: this.#options.logger,
      get closing() {
        return closing();
      },
      now: () => clock.now(),
      writes: new CorkedWrites(() => clock.now()),
      refused: (code) => {
        this.metrics.refused(code);
      },
      dropped: (why) => {
        this.metrics.dropped(why);
      },
      newRequestId: () => `${this.#idPrefix}${(this.#requests += 1).toString(36).padStart(6, '0')}`,
      blocks: new HeadBlocks(),
      trusted: (address) => address === edgePeer || isProxy(address),
      namesUs: (host) => namesUs(host, this.#options.publicUrl?.() ?? ''),
      ownerAlone: () => this.#options.ownerAlone?.(this.#port) ?? true,
      answered: (exchange, ending) => {
        this.#answered(exchange, ending);
      },
      released: (exchange) => {
        this.#inFlight.delete(exchange);
      },
    };
  }

  #answered(exchange: HttpExchange, ending: Ending): void {
    const constant = exchange.definition?.constant !== undefined;
    const quiet = constant && !ending.aborted && this.#options.logConstant !== true;
    const durationMs = quiet ? null : performance.now() - exchange.startedMs;
    const measured = exchange.streamed ? null : durationMs;
    exchange.counts.count(ending.status, ending.aborted, ending.bytes, measured);
    if (durationMs !== null) this.#log.write(exchange, ending, durationMs);
  }

  #socketChanged(response: HttpResponse, change: number, peer: string | null): void {
    if (change < 0) this.#sockets.closed();
    else if (!this.#sockets.opened(peer ?? peerOf(response))) response.close();
  }

  #newSockets(): Sockets {
    const { shared = null, newLimit } = this.#options;
    return new Sockets({
      shared,
      maxSockets: this.limits.maxSockets,
      trusted: this.#host.trusted,
      peers: () => [...this.#inFlight.peers(), ...this.#webSockets.peers()],
      clock: this.#clock,
      ...(newLimit && { newLimit }),
    });
  }

  #newWebSockets(): WebSockets {
    return new WebSockets(
      {
        guarded: (work) => this.#guarded(work),
        request: (response, request, peer, change) =>
          this.#anyRequest(response, request, peer, change),
        beforeMessage: () => this.#options.shared?.beforeRequest(),
        // The library tells of the end of a connection only while it speaks HTTP.
        gone: () => this.#sockets.closed(),
      },
      this.#clock,
    );
  }

  #families(): MetricFamily[] {
    const family = (name: string, help: string, value: number): MetricFamily =>
      singleSample(`gangway_http_${name}`, help, value);
    return [
      family('in_flight', 'Requests not over, streams among them.', this.#inFlight.size),
      family('open_streams', 'Answers without a known end.', this.#inFlight.streams()),
      ...this.#sockets.families(),
      ...this.#webSockets.families(),
    ];
  }
}

function peerOf(response: HttpResponse): string {
  return textAddress(response.getRemoteAddress());
}
