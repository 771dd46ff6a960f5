/**
 * Owns the edge: what listens on its ports and brings requests to apps by their host name.
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
import type { EdgeCertificate, EdgeRoute } from '../../protocol/workload.ts';
import { type Clock, every } from '../../lib/clock.ts';
import type { Logger } from '../../lib/log.ts';
import { Clients, type ClientsOptions } from './clients.ts';
import { Forwarder } from './forwarder.ts';
import { http } from './lean-http.ts';
import { crowdedAnswer } from './pages.ts';
import { isWebSocketUpgrade } from './request-head.ts';
import { Routes } from './routes.ts';
import { TlsFront } from './tls/tls-front.ts';
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
  #tls: TlsFront | undefined;
  #certificates: readonly EdgeCertificate[] = [];

  static async create(options: EdgeOptions): Promise<Edge> {
    const { tenants, tell, clock, logger } = options;
    const traffic = new Traffic({ clock, tell: (reports) => tell({ traffic: reports }) });
    const routes = new Routes(clock, traffic);
    const secureOrigin = (host: string): string | undefined => edge.#secureOrigin(host);
    const forwarder = await Forwarder.create({ routes, tenants, logger, secureOrigin });
    const edge = new Edge({ ...options, traffic }, routes, forwarder);
    return edge;
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

  /** The same for HTTPS. `ticketKeys`: 48 bytes in base64. */
  async listenTls(on: ListeningHandle, ticketKeys: string): Promise<void> {
    const { clock, logger } = this.#options;
    const serve = (socket: net.Socket): void => void this.#server.emit('connection', socket);
    this.#tls = new TlsFront({ clients: this.#clients, clock, logger, serve });
    this.#tls.setCertificates(this.#certificates);
    this.#tls.setTicketKeys(ticketKeys);
    await this.#tls.listen(on);
  }

  /** What tickets of sessions are sealed with from now on. */
  setTicketKeys(keys: string): void {
    this.#tls?.setTicketKeys(keys);
  }

  /** Replaces all certificates. */
  setCertificates(certificates: readonly EdgeCertificate[]): void {
    this.#certificates = certificates;
    this.#tls?.setCertificates(certificates);
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
    this.#tls?.close();
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
    this.#tls?.close();
    this.#server.close();
    this.#forwarder.close();
  }

  /** Where a host is that has a certificate; undefined: on HTTP alone. */
  #secureOrigin(host: string): string | undefined {
    const port = this.#tls?.port;
    if (port === undefined || this.#tls?.certificates.covers(host) !== true) return undefined;
    return `https://${host}${port === 443 ? '' : `:${String(port)}`}`;
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
