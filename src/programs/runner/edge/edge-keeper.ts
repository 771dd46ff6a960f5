/**
 * Owns that there is an edge: its ports, and what its processes are told (`edge-processes.ts`).
 *
 * 1. What is told holds when its promise resolves, in every process of the edge that lives: a route or a place
 *    that is withdrawn leads nowhere from then on.
 * 2. The ports are bound here. When one is taken, that is tried again until it is free; routes and certificates are
 *    kept meanwhile.
 * 3. New processes take over before the old ones drain. When all have died, connections wait for the next.
 */
import { randomBytes } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';

import type { EdgeAddress, EdgeSettings } from '../../../protocol/runner-messages.ts';
import type { EdgeNews, EdgeOrder, OwnPlace } from '../../../protocol/edge-messages.ts';
import type { EdgeCertificate, EdgeRoute } from '../../../protocol/workload.ts';
import { ownTraffic } from '../../../protocol/traffic.ts';
import { every } from '../../../lib/clock.ts';
import { ServiceError } from '../../../lib/errors.ts';
import type { EnvSeal } from '../sealed-env.ts';
import { AccessLogs } from './access-logs.ts';
import { BoundPorts } from './bound-ports.ts';
import type { EdgeProcess } from './edge-process.ts';
import { type Crew, EdgeProcesses, type EdgeProcessesOptions } from './edge-processes.ts';
import { endLastProcesses } from './last-processes.ts';
import { StoredCertificates } from './stored-certificates.ts';
import { StoredRoutes } from './stored-routes.ts';
import { StoredTraffic } from './stored-traffic.ts';

export interface EdgeKeeperOptions extends EdgeProcessesOptions {
  /** The folder where routes and certificates are kept, too. */
  stateDir: string;
  seal: EnvSeal;
}

type Port =
  | { phase: 'off' }
  | { phase: 'bound'; bound: BoundPorts }
  | { phase: 'refused'; address: EdgeAddress; refusal: Refusal; cancelRetry: () => void };

interface Refusal {
  port: number;
  code: string;
}

const retryMs = 2000;
/** Who kept a session open to recorded bytes by keys that were stolen later opens those of a day. */
const ticketKeysMs = 24 * 60 * 60_000;

export class EdgeKeeper {
  /** Of the visitors of apps, over all processes. */
  readonly traffic: StoredTraffic;
  readonly accessLogs: AccessLogs;
  readonly #options: EdgeKeeperOptions;
  readonly #routes: StoredRoutes;
  readonly #certificates: StoredCertificates;
  /** Where workloads serve; null: nowhere any more, which not every process has acknowledged. */
  readonly #places = new Map<string, OwnPlace | null>();
  readonly #processes: EdgeProcesses;
  #port: Port = { phase: 'off' };
  #trustedProxies: readonly string[] = [];
  /** What serves from the next change of the port on. */
  #crew: Crew = { processes: 1 };
  #ticketKeys = newTicketKeys();
  readonly #stopTicketKeys: () => void;
  /** Changes of the port, one after the other. */
  #changes: Promise<void> = Promise.resolve();

  constructor(options: EdgeKeeperOptions) {
    this.#options = options;
    this.#routes = new StoredRoutes(options.stateDir);
    this.traffic = new StoredTraffic(options.stateDir, options.logger);
    this.accessLogs = new AccessLogs(options.stateDir, options.clock, options.logger);
    this.#certificates = new StoredCertificates(options.stateDir, options.seal);
    this.#stopTicketKeys = every(options.clock, ticketKeysMs, () => {
      this.#ticketKeys = newTicketKeys();
      void this.#tell({ op: 'ticket-keys', ticketKeys: this.#ticketKeys });
    });
    this.#processes = new EdgeProcesses(options, {
      news: (process, news) => this.#hear(process, news),
      ended: (process) => this.traffic.ended(process),
      begin: (process, bound) => this.#begin(process, bound),
    });
    endLastProcesses(options.stateDir);
  }

  /** Whether the edge may serve requests, even if nothing else runs beside it. */
  get active(): boolean {
    return this.#port.phase !== 'off' && this.#routes.leadSomewhere;
  }

  /**
   * Serves the address, or none for null. The same address again changes nothing of that; with another program, or
   * number of processes, it is taken over by such ones. Rejects with CONFLICT when the port is taken.
   */
  async configure(settings: EdgeSettings | null): Promise<void> {
    this.#trustedProxies = settings?.trustedProxies ?? [];
    const { program, processes = 1 } = settings ?? {};
    this.#crew = { processes, ...(program !== undefined && { program }) };
    await this.#tell({ op: 'trust', proxies: this.#trustedProxies });
    const address = settings && addressOf(settings);
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
  async setRoutes(routes: readonly EdgeRoute[]): Promise<void> {
    this.#routes.replace(routes);
    await this.#tell({ op: 'routes', routes });
    this.#refuseWhenRefused();
  }

  /** Replaces all certificates, on disk first. Resolves when new connections get them. */
  async setCertificates(certificates: readonly EdgeCertificate[]): Promise<void> {
    this.#certificates.replace(certificates);
    await this.#tell({ op: 'certificates', certificates });
  }

  /** Where the workload serves in a network of its own; undefined: nowhere. */
  async place(workload: string, place: OwnPlace | undefined): Promise<void> {
    const told = this.#places.get(workload);
    if (told === place) return; // Also for one that was never anywhere.
    this.#places.set(workload, place ?? null);
    await this.#tell({ op: 'place', workload, place: place ?? null });
    if (this.#places.get(workload) === null) this.#places.delete(workload);
  }

  /** Ends all of it at once; resolves when no process is left. */
  async close(): Promise<void> {
    this.#turnOff();
    this.#stopTicketKeys();
    await this.#processes.close();
  }

  #refuseWhenRefused(): void {
    if (this.#port.phase !== 'refused') return;
    const { address, refusal } = this.#port;
    const reason = refusal.code === 'EADDRINUSE' ? 'the port is in use' : refusal.code;
    const where = `${address.host}:${String(refusal.port)}`;
    throw new ServiceError('CONFLICT', `Cannot open the edge on ${where}: ${reason}.`);
  }

  async #tell(order: EdgeOrder): Promise<void> {
    await this.#processes.tell(order);
  }

  async #change(address: EdgeAddress | null): Promise<void> {
    if (isSame(this.#addressNow(), address)) {
      if (this.#port.phase === 'bound')
        await this.#processes.takeOver(this.#port.bound, this.#crew);
      return;
    }
    this.#turnOff();
    await this.#processes.drain();
    if (address) await this.#turnOn(address);
  }

  #addressNow(): EdgeAddress | null {
    switch (this.#port.phase) {
      case 'off':
        return null;
      case 'bound':
        return this.#port.bound.address;
      case 'refused':
        return this.#port.address;
    }
  }

  #turnOff(): void {
    const before = this.#port;
    this.#port = { phase: 'off' };
    if (before.phase === 'refused') before.cancelRetry();
    if (before.phase === 'bound') before.bound.close();
  }

  async #turnOn(address: EdgeAddress): Promise<void> {
    const { clock, logger } = this.#options;
    try {
      const bound = new BoundPorts(address);
      this.#port = { phase: 'bound', bound };
      logger.info({ ...address }, 'edge_port_bound');
      await this.#processes.start(bound, this.#crew);
    } catch (error) {
      const { code = 'unknown', port = address.port } = error as Partial<Refusal>;
      if (this.#port.phase === 'off') logger.warn({ ...address, port, code }, 'edge_refused');
      const cancelRetry = clock.after(retryMs, () => {
        this.#changes = this.#changes.then(() => this.#retry(address));
      });
      this.#port = { phase: 'refused', address, refusal: { port, code }, cancelRetry };
    }
  }

  async #retry(address: EdgeAddress): Promise<void> {
    // The edge may have another address by now.
    if (this.#port.phase !== 'refused' || this.#port.address !== address) return;
    await this.#turnOn(address);
  }

  #hear(process: EdgeProcess, news: EdgeNews): void {
    const isRouted = (app: string): boolean => this.#routes.leadTo(app);
    const isCounted = (app: string): boolean => app === ownTraffic || isRouted(app);
    if ('traffic' in news) this.traffic.hear(process, news.traffic, isCounted);
    else this.accessLogs.hear(news.access, isRouted);
  }

  async #begin(process: EdgeProcess, bound: BoundPorts): Promise<boolean> {
    const begin = {
      processes: this.#processes.wanted,
      trustedProxies: this.#trustedProxies,
      routes: this.#routes.all,
      certificates: this.#certificates.all,
      places: [...this.#places].flatMap(([workload, place]) =>
        place === null ? [] : [[workload, place] as const],
      ),
    };
    const told = [process.tell({ op: 'begin', ...begin }, bound.http)];
    const ticketKeys = this.#ticketKeys;
    if (bound.tls) told.push(process.tell({ op: 'listen-tls', ticketKeys }, bound.tls));
    return !(await Promise.all(told)).includes(false);
  }
}

function addressOf({ host, port, tlsPort }: EdgeSettings): EdgeAddress {
  return { host, port, ...(tlsPort !== undefined && { tlsPort }) };
}

function isSame(one: EdgeAddress | null, other: EdgeAddress | null): boolean {
  return isDeepStrictEqual(one, other);
}

function newTicketKeys(): string {
  return randomBytes(48).toString('base64');
}
