/**
 * Owns the listening socket, the routes, and every exchange in flight.
 *
 * 1. Every request is checked in one order: framing (400), size of the head (431), drain (503), path (404),
 *    method (405). Only then does a handler see it.
 * 2. `drain` refuses new connections and requests, calls the owners of streams, fails uploads with
 *    SHUTTING_DOWN, and waits for what is in flight up to a deadline. `close` drains and releases; `abort`
 *    releases now. Each may be called twice.
 * 3. A connection above `maxSockets` is refused before anything is read from it, and so is one of whoever has
 *    too many of them (`crowd.ts`).
 */
import { randomBytes } from 'node:crypto';
import { systemClock, type Clock } from '../lib/clock.ts';
import { ServiceError } from '../lib/errors.ts';
import type { Logger } from '../lib/log.ts';
import { AccessLog, type LineSink } from './access-log.ts';
import { ListenError } from './free-port.ts';
import { HeadBlocks } from './http/answer-head.ts';
import { networks } from '../lib/networks.ts';
import { textAddress } from './http/client-address.ts';
import { namesUs } from './http/own-host.ts';
import type { ConstantAnswer, Route } from './transport.ts';
import {
  defaultLimits,
  type Ending,
  type ExchangeHost,
  type GatewayLimits,
  shortestMs,
} from './http/exchange-host.ts';
import { HttpExchange } from './http/exchange.ts';
import { HeadReader, type CopiedHead } from './http/request-head.ts';
import { InFlight } from './http/in-flight.ts';
import { singleSample, type MetricFamily } from './metrics-text.ts';
import { Metrics } from './metrics.ts';
import { CorkedWrites } from './http/open-stream.ts';
import { RequestBody } from './http/request-body.ts';
import { RouteTable, type Match } from './routes.ts';
import { type SharedSockets, Sockets, type SocketsOptions } from './sockets.ts';
import { notFound, refusing, shuttingDown } from './http/problem.ts';
import { listenOn, loadUws } from './uws.ts';
import type { HttpRequest, HttpResponse, ListenSocket, TemplatedApp, Uws } from './uws.ts';

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
  readonly #heads = new HeadReader();
  readonly #idPrefix = randomBytes(6).toString('hex');
  #phase: Phase = 'new';
  #app: TemplatedApp | undefined;
  #uws: Uws | undefined;
  #listenSocket: ListenSocket | undefined;
  #requests = 0;
  /** Where it listens. */
  #port = 0;
  #draining: Promise<void> | undefined;
  // What #isPlain found in the fields of a request.
  #hosts = 0;
  #framed = false;
  readonly #lookAt = (name: string): void => {
    if (name === 'host') this.#hosts += 1;
    else if (name === 'content-length' || name === 'transfer-encoding') this.#framed = true;
  };

  constructor(options: GatewayOptions) {
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    this.metrics = options.metrics ?? new Metrics();
    this.limits = { ...defaultLimits, ...options.limits };
    const { logger, accessLines: lines } = options;
    this.#log = new AccessLog({ logger, clock: this.#clock, lines });
    this.#inFlight = new InFlight(this.#clock, (work) => this.#guarded(work));
    this.#host = this.#hostOfExchanges();
    this.#sockets = this.#newSockets();
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
    const { host, port } = this.#options;
    // The library counts a little differently and refuses without a problem document. Its limit is twice
    // ours, so that ours refuses first.
    this.#uws = await loadUws(this.limits.headerBytes * 2, this.#options.setVariable);
    const app = (this.#app = this.#uws.App());
    app.filter((response, change) => this.#guarded(() => this.#socketChanged(response, change)));
    for (const { path, constant } of this.#options.routes) {
      if (constant !== undefined) this.#addConstant(app, path, constant);
    }
    app.any('/*', (response, request) => {
      try {
        this.#onRequest(response, request);
      } catch (error) {
        this.#bug(error);
        response.close();
      }
    });
    const listening = await listenOn(app, host, port, this.#options.shared != null);
    if (listening === false) throw new ListenError(host, port);
    this.#listenSocket = listening;
    this.#phase = 'serving';
    this.#inFlight.watch(shortestMs(this.limits));
    this.#port = this.#uws.us_socket_local_port(listening);
    return { port: this.#port };
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
    this.#closeListener();
    this.#app?.close();
    this.#inFlight.stop();
    this.#log.flush();
  }

  async #drain(): Promise<void> {
    if (this.#phase !== 'serving') return;
    this.#phase = 'draining';
    this.#closeListener();
    this.#inFlight.refuseBodies(shuttingDown());
    for (const hook of this.#drainHooks) void this.#runHook(hook);
    await this.#inFlight.emptyWithin(this.limits.drainMs);
    // The last answer may still be in the library's cork.
    await new Promise(setImmediate);
    this.#log.flush();
    if (this.#inFlight.size === 0) return;
    this.#options.logger.warn({ requests: this.#inFlight.size }, 'gateway_drain_cut');
    this.#inFlight.abortAll();
  }

  async #runHook(hook: DrainHook): Promise<void> {
    try {
      await hook();
    } catch (error) {
      this.#options.logger.error({ err: error }, 'gateway_drain_hook');
    }
  }

  #closeListener(): void {
    if (this.#listenSocket !== undefined) this.#uws?.us_listen_socket_close(this.#listenSocket);
    this.#listenSocket = undefined;
  }

  /** The library matches the path itself, which is faster than our own table. */
  #addConstant(app: TemplatedApp, path: string, { headers, body }: ConstantAnswer): void {
    const counts = this.metrics.route(path, 'GET');
    const { first, rest } = this.#host.blocks.fixed(headers);
    app.get(path, (response, request) => {
      if (
        this.#phase !== 'serving' ||
        this.#options.logConstant === true ||
        this.#sockets.isCrowded ||
        !this.#isPlain(request)
      ) {
        this.#onRequest(response, request);
        return;
      }
      response.writeHeader(first, rest);
      response.end(body);
      counts.count(200, false, body.length, null);
    });
  }

  /** An error that reached the library would end the process, and with it all connections. */
  #guarded(work: () => void): void {
    try {
      work();
    } catch (error) {
      this.#bug(error);
    }
  }

  #bug(error: unknown): void {
    this.#options.logger.error({ err: error }, 'gateway_bug');
  }

  /** Whether a request has no body and one Host. Then its framing needs no check. */
  #isPlain(request: HttpRequest): boolean {
    this.#hosts = 0;
    this.#framed = false;
    request.forEach(this.#lookAt);
    return this.#hosts === 1 && !this.#framed;
  }

  #onRequest(response: HttpResponse, request: HttpRequest): void {
    this.#options.shared?.beforeRequest();
    const path = request.getUrl();
    const method = request.getCaseSensitiveMethod();
    const head = this.#heads.read(request, path);
    const match = this.#routes.match(method, path);
    const refused = this.#refusal(head, match);
    const found = match.kind === 'found' ? match : undefined;
    const template = match.kind === 'otherMethod' ? match.path : (found?.route.path ?? '');
    // The end of a chunked body may be ambiguous: no second request is read after it.
    const chunked = head.framing.kind === 'chunked' || head.framing.kind === 'refused';
    const body = this.#bodyOf(response, head);
    const peer = this.#sockets.only ?? peerOf(response);
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
    exchange.run(refused === undefined && route ? route : refusing(refused, route));
  }

  #refusal(head: CopiedHead, match: Match): ServiceError | undefined {
    if (head.framing.kind === 'refused') {
      return new ServiceError('BAD_REQUEST', head.framing.detail);
    }
    if (head.bytes > this.limits.headerBytes) {
      return new ServiceError('HEADERS_TOO_LARGE', 'The head of the request is too large.');
    }
    if (this.#phase !== 'serving') return shuttingDown();
    switch (match.kind) {
      case 'none':
        return notFound();
      case 'otherMethod':
        return new ServiceError('METHOD_NOT_ALLOWED', 'This address takes other methods.', {
          headers: { Allow: match.allow },
        });
      case 'found':
        return undefined;
    }
  }

  /** A body whose framing is refused counts as endless: some of it is read, then the connection is cut. */
  #bodyOf(response: HttpResponse, head: CopiedHead): RequestBody | undefined {
    if (head.framing.kind === 'none') return undefined;
    const framing = head.framing.kind === 'refused' ? ({ kind: 'chunked' } as const) : head.framing;
    return new RequestBody(response, framing, this.limits, this.#host.now);
  }

  #track(exchange: HttpExchange, response: HttpResponse): void {
    this.#inFlight.add(exchange);
    response.onAborted(() => this.#guarded(() => exchange.clientLeft()));
  }

  #hostOfExchanges(): ExchangeHost<HttpExchange> {
    const closing = (): boolean => this.#phase !== 'serving';
    const clock = this.#clock;
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
      trusted: networks(this.#options.trustedProxies ?? []),
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

  #socketChanged(response: HttpResponse, change: number): void {
    if (change < 0) this.#sockets.closed();
    else if (!this.#sockets.opened(peerOf(response))) response.close();
  }

  #newSockets(): Sockets {
    const { shared = null, newLimit } = this.#options;
    return new Sockets({
      shared,
      maxSockets: this.limits.maxSockets,
      trusted: this.#host.trusted,
      peers: () => this.#inFlight.peers(),
      clock: this.#clock,
      ...(newLimit && { newLimit }),
    });
  }

  #families(): MetricFamily[] {
    const family = (name: string, help: string, value: number): MetricFamily =>
      singleSample(`gangway_http_${name}`, help, value);
    return [
      family('in_flight', 'Requests not over, streams among them.', this.#inFlight.size),
      family('open_streams', 'Answers without a known end.', this.#inFlight.streams()),
      ...this.#sockets.families(),
    ];
  }
}

function peerOf(response: HttpResponse): string {
  return textAddress(response.getRemoteAddress());
}
