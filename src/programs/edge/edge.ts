/**
 * Owns the edge: what listens on its ports and brings requests to apps by their host name.
 *
 * 1. The edge serves hosts of apps and nothing else.
 * 2. What one connection, one client or one app does costs that one alone.
 * 3. Once it drains, what is under way goes on. Each connection is told so with its last answer, and one that
 *    asks nothing for a while is closed.
 */
import { once } from 'node:events';
import net from 'node:net';
import type { TLSSocket } from 'node:tls';

import type { EdgeNews, Tenants } from '../../protocol/edge-messages.ts';
import type { EdgeCertificate, EdgeRoute } from '../../protocol/workload.ts';
import { type Clock, every } from '../../lib/clock.ts';
import type { Logger } from '../../lib/log.ts';
import { AccessLog } from './access-lines.ts';
import { Clients, type ClientsOptions } from './clients.ts';
import { Forwarder } from './forwarder.ts';
import { type Accepted, readingIntoMemory } from './http1/read-buffers.ts';
import { VisitorConnection } from './http1/visitor-connection.ts';
import { Http2Sessions } from './http2/sessions.ts';
import { crowdedText } from './pages.ts';
import { Routes } from './routes.ts';
import { TlsFront } from './tls/tls-front.ts';
import { Traffic } from './traffic.ts';
import type { Origin, Visit, VisitorHost } from './visit.ts';
import { Watch } from './watch.ts';

export interface EdgeOptions {
  /** Whose sockets those are that listen at the targets of routes. */
  tenants: Tenants;
  /** Tells what nobody asked for. `taken` is called once it is on its way. */
  tell: (news: EdgeNews, taken?: () => void) => void;
  clock: Clock;
  logger: Logger;
  /** For tests, which don't open thousands of connections. */
  bounds?: Omit<ClientsOptions, 'clock' | 'logger'>;
  /** For tests: what all sessions of HTTP/2 may hold together. */
  heldBytesMax?: number;
}

/** A bound socket of the runner's, as Node hands it over; a file descriptor or an address is one, too. */
export type ListeningHandle = net.ListenOptions | { fd: number };

/** Of a draining edge: how long a connection may ask nothing, and how often it is looked whether any is left. */
const [restMs, lookMs] = [5000, 250];

export class Edge implements VisitorHost {
  readonly watch: Watch;
  readonly #options: EdgeOptions;
  readonly #routes: Routes;
  readonly #clients: Clients;
  readonly #forwarder: Forwarder;
  readonly #front: net.Server;
  readonly #connections = new Set<VisitorConnection>();
  readonly #traffic: Traffic;
  readonly #accessLog: AccessLog;
  readonly #http2: Http2Sessions;
  #tls: TlsFront | undefined;
  #certificates: readonly EdgeCertificate[] = [];
  #isDraining = false;

  constructor(options: EdgeOptions) {
    const { tenants, tell, clock, logger, bounds } = options;
    this.#options = options;
    this.watch = new Watch(clock);
    this.#traffic = new Traffic({ clock, tell: (traffic) => tell({ traffic }) });
    this.#routes = new Routes(clock, this.#traffic);
    this.#accessLog = new AccessLog({
      clock,
      tell: (access, taken) => tell({ access }, taken),
    });
    this.#clients = new Clients({ ...bounds, clock, logger });
    this.#forwarder = new Forwarder({
      routes: this.#routes,
      tenants,
      logger,
      watch: this.watch,
      accessLog: this.#accessLog,
      answered: (status) => this.answered(status),
      isTrusted: (address) => this.#clients.isTrusted(address),
      secureOrigin: (host) => this.#secureOrigin(host),
      plainOrigin: (host) => this.#plainOrigin(host),
    });
    this.#http2 = new Http2Sessions(this, options);
    // Before a connection is let in it costs nothing: those that are refused or wait may be thousands.
    const front = { pauseOnConnect: true, allowHalfOpen: true, noDelay: true };
    this.#front = net.createServer(front, (socket) => this.#admit(readingIntoMemory(socket)));
  }

  get isDraining(): boolean {
    return this.#isDraining;
  }

  /** Once. */
  async listen(on: ListeningHandle): Promise<void> {
    this.#front.listen(on);
    await once(this.#front, 'listening');
    const { logger } = this.#options;
    this.#front.on('error', (error) => logger.error({ err: error }, 'edge_accept_failed'));
  }

  /** The same for HTTPS. `ticketKeys`: 48 bytes in base64. */
  async listenTls(on: ListeningHandle, ticketKeys: string): Promise<void> {
    const { clock, logger } = this.#options;
    const serve = (socket: TLSSocket): void => {
      const servername = String(socket.servername).toLowerCase();
      const origin: Origin = { address: addressOf(socket), proto: 'https', servername };
      if (socket.alpnProtocol === 'h2') this.#http2.serve(socket, origin);
      else this.#serve(socket, origin);
    };
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

  /** Says, before its routes, how many processes take connections with it; itself is one of them. */
  shareWith(processes: number): void {
    this.#routes.shareWith(processes);
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
    const { clock } = this.#options;
    this.#front.close();
    this.#tls?.close();
    this.#isDraining = true;
    this.#http2.drain();
    const sinceMs = clock.now();
    const stop = every(clock, lookMs, () => {
      const passedMs = clock.now() - sinceMs;
      if (passedMs >= restMs) for (const connection of this.#connections) connection.closeIfIdle();
      if (this.#clients.connections > 0 && passedMs < mostMs) return;
      stop();
      this.#traffic.flush();
      this.#accessLog.flush();
      drained();
    });
  }

  close(): void {
    this.#front.close();
    this.#tls?.close();
    for (const connection of this.#connections) connection.closeIfIdle();
    this.#http2.close();
    this.#forwarder.close();
    this.watch.close();
  }

  begun(socket: net.Socket): () => void {
    return this.#clients.begin(socket);
  }

  answered(status: number): void {
    this.#traffic.answered(status);
  }

  visit(visit: Visit): void {
    this.#forwarder.begin(visit);
  }

  #admit(accepted: Accepted): void {
    const { socket } = accepted;
    socket.on('error', () => undefined); // 'close' follows.
    const isAdmitted = this.#clients.admit(socket, () =>
      this.#serve(socket, { address: addressOf(socket), proto: 'http' }, accepted),
    );
    if (isAdmitted) return;
    socket.end(crowdedText(this.watch.date));
    socket.destroySoon();
  }

  /** Any socket that carries HTTP/1.1. */
  #serve(socket: net.Socket, origin: Origin, accepted?: Accepted): void {
    const connection = new VisitorConnection(socket, origin, this, accepted);
    this.#connections.add(connection);
    socket.once('close', () => this.#connections.delete(connection));
    socket.resume();
  }

  /** Where a host is that has a certificate; undefined: on HTTP alone. */
  #secureOrigin(host: string): string | undefined {
    const port = this.#tls?.port;
    if (port === undefined || this.#tls?.certificates.covers(host) !== true) return undefined;
    return `https://${host}${port === 443 ? '' : `:${String(port)}`}`;
  }

  /** Where it is on HTTP. */
  #plainOrigin(host: string): string {
    const address = this.#front.address();
    const port = typeof address === 'object' ? (address?.port ?? 80) : 80;
    return `http://${host}${port === 80 ? '' : `:${String(port)}`}`;
  }
}

function addressOf({ remoteAddress = '' }: net.Socket): string {
  return remoteAddress.replace(/^::ffff:/, '');
}
