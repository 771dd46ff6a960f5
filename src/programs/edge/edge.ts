/**
 * Owns the edge: the listener that routes requests to apps by their host name. It runs in the runner, so
 * that apps are reached while Gangway restarts.
 *
 * 1. The edge serves hosts of apps and nothing else.
 * 2. When its port is taken, the edge tries again until the port is free. The routes are kept meanwhile.
 * 3. What one connection, one client or one app does costs that one alone.
 */
import { once } from 'node:events';
import type { IncomingMessage, Server, ServerOptions } from 'node:http';
import net from 'node:net';

import type { EdgeAddress, EdgeSettings } from '../../protocol/runner-messages.ts';
import type { EdgeRoute } from '../../protocol/workload.ts';
import { ServiceError } from '../../lib/errors.ts';
import type { Clock } from '../../lib/clock.ts';
import type { Logger } from '../../lib/log.ts';
import { Clients, type ClientsOptions } from './clients.ts';
import { Forwarder } from './forwarder.ts';
import { http } from './lean-http.ts';
import { crowdedAnswer } from './pages.ts';
import { isWebSocketUpgrade } from './request-head.ts';
import { Routes } from './routes.ts';
import type { Tenants } from './upstreams.ts';

export interface EdgeOptions {
  /** The folder where the routes are kept. */
  dir: string;
  /** Whose sockets those are that listen at the targets of routes. */
  tenants: Tenants;
  clock: Clock;
  logger: Logger;
  /** For tests, which don't open thousands of connections. */
  bounds?: Omit<ClientsOptions, 'clock' | 'logger'>;
}

/** What listens, and what serves those of the connections that it lets in. */
interface Servers {
  front: net.Server;
  server: Server;
}

type Listener =
  | { phase: 'off' }
  | ({ phase: 'listening'; address: EdgeAddress } & Servers)
  | { phase: 'refused'; address: EdgeAddress; code: string; cancelRetry: () => void };

const retryMs = 2000;
const headersMs = 30_000;
const headersBytesMax = 32 * 1024;
/** Longer than common clients keep a connection, so that it is not closed under a request. */
const keepAliveMs = 75_000;
const silenceMs = 10 * 60_000;

export class Edge {
  readonly #routes: Routes;
  readonly #options: EdgeOptions;
  readonly #clients: Clients;
  #listener: Listener = { phase: 'off' };
  #forwarder: Forwarder | undefined;
  /** Changes of the listener, one after the other. */
  #changes: Promise<void> = Promise.resolve();

  constructor(options: EdgeOptions) {
    this.#options = options;
    this.#routes = new Routes(options.dir, options.clock);
    this.#clients = new Clients({
      ...options.bounds,
      clock: options.clock,
      logger: options.logger,
    });
  }

  /** Whether the edge may serve requests, even if nothing else runs beside it. */
  get active(): boolean {
    return this.#listener.phase !== 'off' && this.#routes.leadSomewhere;
  }

  /**
   * Listens at the address, or nowhere for null. The same address again changes nothing of that. Rejects
   * with CONFLICT when the port is taken.
   */
  async configure(settings: EdgeSettings | null): Promise<void> {
    this.#clients.trust(settings?.trustedProxies ?? []);
    const address = settings && { host: settings.host, port: settings.port };
    const change = this.#changes.then(() => this.#change(address));
    this.#changes = change.catch((error: unknown) =>
      this.#options.logger.error({ err: error }, 'edge_change_failed'),
    );
    await change;
    this.#refuseWhenRefused();
  }

  /**
   * Replaces all routes, on disk first. Rejects with CONFLICT while the edge cannot listen. The routes are
   * kept even then, and serve as soon as the edge listens.
   */
  setRoutes(routes: readonly EdgeRoute[]): Promise<void> {
    this.#routes.replace(routes);
    return new Promise((resolve) => {
      this.#refuseWhenRefused();
      resolve();
    });
  }

  /** Where the edge listens, for a port that the system picked. */
  get address(): EdgeAddress | undefined {
    return this.#listener.phase === 'listening' ? this.#listener.address : undefined;
  }

  close(): void {
    this.#turnOff();
    this.#forwarder?.close();
  }

  #refuseWhenRefused(): void {
    if (this.#listener.phase !== 'refused') return;
    const { address, code } = this.#listener;
    const reason = code === 'EADDRINUSE' ? 'the port is in use' : code;
    const where = `${address.host}:${String(address.port)}`;
    throw new ServiceError('CONFLICT', `Cannot open the edge on ${where}: ${reason}.`);
  }

  async #change(address: EdgeAddress | null): Promise<void> {
    const now = this.#listener;
    const same =
      now.phase === 'off'
        ? address === null
        : address?.host === now.address.host && address.port === now.address.port;
    if (same) return;
    this.#turnOff();
    if (address) await this.#turnOn(address);
  }

  #turnOff(): void {
    const before = this.#listener;
    this.#listener = { phase: 'off' };
    if (before.phase === 'refused') before.cancelRetry();
    if (before.phase === 'listening') {
      before.front.close();
      before.server.close();
      before.server.closeIdleConnections();
    }
  }

  async #turnOn(address: EdgeAddress): Promise<void> {
    const { tenants, logger } = this.#options;
    this.#forwarder ??= await Forwarder.create({ routes: this.#routes, tenants, logger });
    const server = createServer(this.#forwarder, this.#clients, logger);
    const front = createFront(server, this.#clients);
    try {
      front.listen({ host: address.host, port: address.port });
      await once(front, 'listening');
      front.on('error', (error) => logger.error({ err: error }, 'edge_accept_failed'));
      // It does not listen itself. From now on it looks for heads that do not come.
      server.emit('listening');
      this.#listener = { phase: 'listening', address, front, server };
      logger.info({ ...address }, 'edge_listening');
    } catch (error) {
      const code = (error as NodeJS.ErrnoException).code ?? 'unknown';
      if (this.#listener.phase === 'off') logger.warn({ ...address, code }, 'edge_refused');
      const cancelRetry = this.#options.clock.after(retryMs, () => {
        this.#changes = this.#changes.then(() => this.#retry(address));
      });
      this.#listener = { phase: 'refused', address, code, cancelRetry };
    }
  }

  async #retry(address: EdgeAddress): Promise<void> {
    // The edge may have another address by now.
    if (this.#listener.phase !== 'refused' || this.#listener.address !== address) return;
    await this.#turnOn(address);
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
