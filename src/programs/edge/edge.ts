/**
 * Owns the edge: what listens on its port and brings requests to apps by their host name.
 *
 * 1. The edge serves hosts of apps and nothing else.
 * 2. What one connection, one client or one app does costs that one alone.
 * 3. Once it drains, what is under way goes on. Each connection is told so with its last answer, and one that
 *    asks nothing for a while is closed.
 */
import { once } from 'node:events';
import type { IncomingMessage, Server, ServerOptions } from 'node:http';
import net from 'node:net';

import type { EdgeNews, Tenants } from '../../protocol/edge-messages.ts';
import type { EdgeRoute } from '../../protocol/workload.ts';
import { type Clock, every } from '../../lib/clock.ts';
import type { Logger } from '../../lib/log.ts';
import { Clients, type ClientsOptions } from './clients.ts';
import { Forwarder } from './forwarder.ts';
import { http } from './lean-http.ts';
import { crowdedAnswer } from './pages.ts';
import { isWebSocketUpgrade } from './request-head.ts';
import { Routes } from './routes.ts';
import { Traffic } from './traffic.ts';

export interface EdgeOptions {
  /** Whose sockets those are that listen at the targets of routes. */
  tenants: Tenants;
  /** Tells what nobody asked for. */
  tell: (news: EdgeNews) => void;
  clock: Clock;
  logger: Logger;
  /** For tests, which don't open thousands of connections. */
  bounds?: Omit<ClientsOptions, 'clock' | 'logger'>;
}

interface EdgeParts extends EdgeOptions {
  traffic: Traffic;
}

/** A bound socket of the runner's, as Node hands it over; a file descriptor or an address is one, too. */
export type ListeningHandle = net.ListenOptions | { fd: number };

const headersMs = 30_000;
const headersBytesMax = 32 * 1024;
/** Longer than common clients keep a connection, so that it is not closed under a request. */
const keepAliveMs = 75_000;
const silenceMs = 10 * 60_000;
/** Of a draining edge: how long a connection may ask nothing, and how often it is looked whether any is left. */
const [restMs, lookMs] = [5000, 250];

export class Edge {
  readonly #options: EdgeParts;
  readonly #routes: Routes;
  readonly #clients: Clients;
  readonly #forwarder: Forwarder;
  readonly #server: Server;
  readonly #front: net.Server;

  static async create(options: EdgeOptions): Promise<Edge> {
    const { tenants, tell, clock, logger } = options;
    const traffic = new Traffic({ clock, tell: (reports) => tell({ traffic: reports }) });
    const routes = new Routes(clock, traffic);
    return new Edge(
      { ...options, traffic },
      routes,
      await Forwarder.create({ routes, tenants, logger }),
    );
  }

  private constructor(options: EdgeParts, routes: Routes, forwarder: Forwarder) {
    const { bounds, clock, logger } = options;
    this.#options = options;
    this.#routes = routes;
    this.#forwarder = forwarder;
    this.#clients = new Clients({ ...bounds, clock, logger });
    this.#server = createServer(forwarder, this.#clients, logger);
    this.#front = createFront(this.#server, this.#clients);
  }

  /** Once. */
  async listen(on: ListeningHandle): Promise<void> {
    this.#front.listen(on);
    await once(this.#front, 'listening');
    const { logger } = this.#options;
    this.#front.on('error', (error) => logger.error({ err: error }, 'edge_accept_failed'));
    // It does not listen itself. From now on it looks for heads that do not come.
    this.#server.emit('listening');
  }

  /** Addresses and CIDRs of proxies, from now on. Throws when one is neither. */
  trust(proxies: readonly string[]): void {
    this.#clients.trust(proxies);
  }

  /** Replaces all routes. */
  setRoutes(routes: readonly EdgeRoute[]): void {
    this.#routes.replace(routes);
  }

  /** Takes no connections any more. Calls back when none is left, or after `mostMs`. */
  drain(mostMs: number, drained: () => void): void {
    const { clock, traffic } = this.#options;
    this.#front.close();
    this.#forwarder.drain();
    const sinceMs = clock.now();
    const stop = every(clock, lookMs, () => {
      const passedMs = clock.now() - sinceMs;
      if (passedMs >= restMs) this.#server.closeIdleConnections();
      if (this.#clients.connections > 0 && passedMs < mostMs) return;
      stop();
      traffic.flush();
      drained();
    });
  }

  close(): void {
    this.#front.close();
    this.#server.close();
    this.#forwarder.close();
  }
}

function createServer(forwarder: Forwarder, clients: Clients, logger: Logger): Server {
  // Other upgrades (curl's h2c) are plain requests, as RFC 9110, 7.8 allows.
  const options: ServerOptions & { shouldUpgradeCallback: (req: IncomingMessage) => boolean } = {
    headersTimeout: headersMs,
    // A slow upload is no fault. A silent connection is one, and is closed below.
    requestTimeout: 0,
    keepAliveTimeout: keepAliveMs,
    maxHeaderSize: headersBytesMax,
    noDelay: true,
    shouldUpgradeCallback: isWebSocketUpgrade,
  };
  const failed = (error: unknown): void => logger.error({ err: error }, 'edge_failed');
  const server = http.createServer(options, (req, res) => {
    res.once('close', clients.begin(req.socket));
    forwarder.request(req, res).catch((error: unknown) => {
      failed(error);
      res.destroy();
    });
  });
  server.on('upgrade', (req, _stream, head) => {
    // The same object as `_stream`, which is typed for servers on other streams than sockets.
    const { socket } = req;
    clients.begin(socket); // Until it closes.
    forwarder.upgrade(req, socket, head).catch((error: unknown) => {
      failed(error);
      socket.destroy();
    });
  });
  server.setTimeout(silenceMs);
  return server;
}

/** Before a connection is let in it costs no parser: those that are refused or wait may be thousands. */
function createFront(server: Server, clients: Clients): net.Server {
  const options = { pauseOnConnect: true, allowHalfOpen: true, noDelay: true };
  return net.createServer(options, (socket) => {
    socket.on('error', () => undefined); // 'close' follows.
    const isAdmitted = clients.admit(socket, () => {
      server.emit('connection', socket);
      socket.resume();
    });
    if (isAdmitted) return;
    socket.end(crowdedAnswer);
    socket.destroySoon();
  });
}
