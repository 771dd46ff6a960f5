/**
 * Owns that there is an edge: its ports, what it is told, and its process, which is started again when it ends.
 *
 * 1. What is told holds when its promise resolves, in every process of the edge that lives: a route or a place
 *    that is withdrawn leads nowhere from then on.
 * 2. The ports are bound here. When one is taken, that is tried again until it is free; routes and certificates are
 *    kept meanwhile.
 * 3. A new process takes over before the old one drains. When one dies, connections wait for the next.
 */
import { randomBytes } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';

import type { EdgeAddress, EdgeSettings } from '../../../protocol/runner-messages.ts';
import type { EdgeNews, EdgeOrder, OwnPlace } from '../../../protocol/edge-messages.ts';
import type { EdgeCertificate, EdgeRoute } from '../../../protocol/workload.ts';
import { every } from '../../../lib/clock.ts';
import { ServiceError } from '../../../lib/errors.ts';
import { restartDelayMs } from '../backoff.ts';
import type { EnvSeal } from '../sealed-env.ts';
import { AccessLogs } from './access-logs.ts';
import { BoundPorts } from './bound-ports.ts';
import { EdgeProcess, type EdgeProcessOptions, ownProgram } from './edge-process.ts';
import { endLastProcess, noteProcess } from './last-process.ts';
import { StoredCertificates } from './stored-certificates.ts';
import { StoredRoutes } from './stored-routes.ts';
import { StoredTraffic } from './stored-traffic.ts';

export interface EdgeKeeperOptions extends EdgeProcessOptions {
  /** The folder where routes and certificates are kept. */
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
const backoff = { firstMs: 20, maxMs: 5000, goodRunMs: 10_000 };

export class EdgeKeeper {
  /** Of the visitors of apps, over all processes. */
  readonly traffic: StoredTraffic;
  readonly accessLogs: AccessLogs;
  readonly #options: EdgeKeeperOptions;
  readonly #routes: StoredRoutes;
  readonly #certificates: StoredCertificates;
  /** Where workloads serve; null: nowhere any more, which not every process has acknowledged. */
  readonly #places = new Map<string, OwnPlace | null>();
  /** All that live, also those that drain. */
  readonly #processes = new Set<EdgeProcess>();
  #serving: EdgeProcess | undefined;
  #port: Port = { phase: 'off' };
  #trustedProxies: readonly string[] = [];
  /** What the next process is started with. */
  #program = ownProgram;
  #ticketKeys = newTicketKeys();
  readonly #stopTicketKeys: () => void;
  #shortRuns = 0;
  #cancelStart: () => void = () => undefined;
  /** Changes of the port, one after the other. */
  #changes: Promise<void> = Promise.resolve();
  #tellAllGone: () => void = () => undefined;

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
    endLastProcess(options.stateDir);
  }

  /** Whether the edge may serve requests, even if nothing else runs beside it. */
  get active(): boolean {
    return this.#port.phase !== 'off' && this.#routes.leadSomewhere;
  }

  /**
   * Serves the address, or none for null. The same address again changes nothing of that; with another program it is
   * taken over by a process of that. Rejects with CONFLICT when the port is taken.
   */
  async configure(settings: EdgeSettings | null): Promise<void> {
    this.#trustedProxies = settings?.trustedProxies ?? [];
    this.#program = settings?.program ?? ownProgram;
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
    const allGone = new Promise<void>((resolve) => (this.#tellAllGone = resolve));
    if (this.#processes.size === 0) return;
    for (const one of this.#processes) one.kill();
    await allGone;
  }

  #refuseWhenRefused(): void {
    if (this.#port.phase !== 'refused') return;
    const { address, refusal } = this.#port;
    const reason = refusal.code === 'EADDRINUSE' ? 'the port is in use' : refusal.code;
    const where = `${address.host}:${String(refusal.port)}`;
    throw new ServiceError('CONFLICT', `Cannot open the edge on ${where}: ${reason}.`);
  }

  async #tell(order: EdgeOrder): Promise<void> {
    await Promise.all([...this.#processes].map((one) => one.tell(order)));
  }

  async #change(address: EdgeAddress | null): Promise<void> {
    const before = this.#serving;
    if (isSame(this.#addressNow(), address)) {
      if (before !== undefined && before.program !== this.#program) await this.#takeOver();
      return;
    }
    this.#turnOff();
    await before?.tell({ op: 'drain' });
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
    this.#serving = undefined;
    this.#cancelStart();
    if (before.phase === 'refused') before.cancelRetry();
    if (before.phase === 'bound') before.bound.close();
  }

  async #turnOn(address: EdgeAddress): Promise<void> {
    const { clock, logger } = this.#options;
    try {
      const bound = new BoundPorts(address);
      this.#port = { phase: 'bound', bound };
      logger.info({ ...address }, 'edge_port_bound');
      await this.#start(bound);
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

  /** A program that does not begin to serve replaces none that does. */
  async #takeOver(): Promise<void> {
    if (this.#port.phase !== 'bound') return;
    const { process, begun } = this.#launch(this.#port.bound);
    if (!(await begun)) {
      this.#options.logger.error({ program: process.program }, 'edge_not_taken_over');
      return;
    }
    const before = this.#serving;
    this.#serving = process;
    await before?.tell({ op: 'drain' });
    this.#options.logger.info({ pid: process.pid, before: before?.pid }, 'edge_taken_over');
  }

  /** Resolves when it listens, or is gone. */
  async #start(bound: BoundPorts): Promise<void> {
    const { process, begun } = this.#launch(bound);
    this.#serving = process;
    await begun;
  }

  #launch(bound: BoundPorts): { process: EdgeProcess; begun: Promise<boolean> } {
    const { clock } = this.#options;
    const startedAtMs = clock.now();
    const started = new EdgeProcess(this.#program, this.#options, {
      news: (news) => this.#hear(started, news),
      ended: () => {
        this.#forget(started);
        if (this.#serving !== started) return;
        const wasShort = clock.now() - startedAtMs < backoff.goodRunMs;
        this.#shortRuns = wasShort ? this.#shortRuns + 1 : 0;
        this.#startAgain(bound);
      },
    });
    this.#processes.add(started);
    if (started.pid !== undefined) noteProcess(this.#options.stateDir, started.pid);
    return { process: started, begun: this.#begin(started, bound) };
  }

  #hear(process: EdgeProcess, news: EdgeNews): void {
    const isRouted = (app: string): boolean => this.#routes.leadTo(app);
    if ('traffic' in news) this.traffic.hear(process, news.traffic, isRouted);
    else this.accessLogs.hear(news.access, isRouted);
  }

  #forget(ended: EdgeProcess): void {
    this.#processes.delete(ended);
    this.traffic.ended(ended);
    if (this.#processes.size === 0) this.#tellAllGone();
  }

  async #begin(process: EdgeProcess, bound: BoundPorts): Promise<boolean> {
    const begin = {
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

  #startAgain(bound: BoundPorts): void {
    const delayMs = this.#shortRuns === 0 ? 0 : restartDelayMs(backoff, this.#shortRuns);
    this.#cancelStart = this.#options.clock.after(delayMs, () => void this.#start(bound));
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
