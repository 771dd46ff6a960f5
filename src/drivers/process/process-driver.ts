/**
 * Owns the driver for child processes of this machine: the client side of the runner.
 *
 * 1. A runner is started when it is needed and none answers. It is started again when it dies while
 *    something is to run, or while there are routes.
 * 2. A connection is given up when the runner does not answer for long, and opened again until it
 *    answers. A runner that hangs is not replaced by another.
 * 3. After a lost connection requests are sent again, which all but `exec` and `pipe` allow, until
 *    `requestTimeoutMs` is over. Then they fail with AGENT_UNREACHABLE.
 */
import path from 'node:path';

import { type Clock, systemClock } from '../../lib/clock.ts';
import { ServiceError } from '../../lib/errors.ts';
import type { Logger } from '../../lib/log.ts';
import type { IsolationLayer, LayerState } from '../../protocol/isolation.ts';
import { decodeRecords } from '../../protocol/log-records.ts';
import type { Driver, DriverEvent, Pipe, Terminal, TerminalEvents } from '../driver.ts';
import { EventListeners } from '../event-listeners.ts';
import type {
  EdgeRoute,
  ExecOutcome,
  ExecSpec,
  TerminalSpec,
  Usage,
  Workload,
  WorkloadSpec,
} from '../../protocol/workload.ts';
import type { Listener } from '../../lib/processes/listening-sockets.ts';
import { type AppTraffic, trafficByApp } from '../../protocol/traffic.ts';
import { Connection, ConnectionLost, type Link } from './connection.ts';
import type { EdgeSettings, RunnerAnswers, RunnerRequest } from '../../protocol/runner-messages.ts';
import { agree, configure, sign } from './greeting.ts';
import { haveNetworks, sharedWhileAsked } from './isolating.ts';
import { greetOrLaunch } from './launching.ts';
import { hasRecords, startRunner } from './runner-process.ts';
import { openPipe } from './pipe.ts';
import { listenForSigns, unlessAborted, unreachable, within } from './silence.ts';

export interface ProcessDriverOptions {
  /** Absolute. */
  dataDir: string;
  /** Where apps are reached; null for a driver without an edge. */
  edge: EdgeSettings | null;
  logger: Logger;
  /** 32 bytes: what the runner encrypts the variables of workloads with on disk. */
  runnerKey: Uint8Array;
  /** Layers of isolation to leave out, in the order of `isolationLayers`. */
  without: readonly IsolationLayer[];
  clock?: Clock;
  /** Over all attempts of one request, apart from `stop`, `remove` and `follow`. Default 20 s. */
  requestTimeoutMs?: number;
}

/** Between two attempts to reach a runner that does not answer, and for it to greet. */
const [retryLaterMs, greetMs] = [2_000, 5_000];
const readBytes = 128 * 1024;
const trafficMs = 2000;

export function createProcessDriver(options: ProcessDriverOptions): Driver {
  return new ProcessDriver(options);
}

class ProcessDriver implements Driver {
  readonly name = 'process';
  readonly runs = 'host';
  readonly images = null;
  readonly volumes = null;
  readonly #options: ProcessDriverOptions;
  readonly #clock: Clock;
  readonly #listeners: EventListeners;
  readonly #closed = new AbortController();
  #link: Link = { phase: 'idle' };
  #hasRoutes = false;
  #beat = new AbortController();
  #reconnects = false;

  constructor(options: ProcessDriverOptions) {
    if (!path.isAbsolute(options.dataDir)) {
      throw new Error('Cannot make a process driver: dataDir must be absolute');
    }
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    this.#listeners = new EventListeners(options.logger);
  }

  async open(): Promise<void> {
    if (!hasRecords(this.#options.dataDir)) {
      await this.#existing();
      return;
    }
    await this.#connected().catch((err: unknown) => {
      // What runs is reported when the runner answers.
      this.#options.logger.error({ err }, 'runner_not_reached');
      this.#reconnectLater();
    });
  }

  async answers(withinMs: number): Promise<boolean> {
    try {
      const untilMs = this.#clock.now() + withinMs;
      const connection = await within(this.#clock, untilMs, this.#connected());
      await within(this.#clock, untilMs, sign(connection));
      return true;
    } catch {
      return false; // Refused, lost and not answered are the same here.
    }
  }

  start(spec: WorkloadSpec): Promise<Workload> {
    return this.#ask({ op: 'start', spec });
  }

  async inspect(id: string): Promise<Workload | undefined> {
    if (!(await this.#reachable())) return undefined;
    return (await this.#ask({ op: 'inspect', workload: id })) ?? undefined;
  }

  async list(): Promise<Workload[]> {
    return (await this.#reachable()) ? this.#ask({ op: 'list' }) : [];
  }

  async stop(id: string): Promise<void> {
    if (await this.#reachable()) await this.#ask({ op: 'stop', workload: id }, Infinity);
  }

  async remove(id: string): Promise<void> {
    if (await this.#reachable()) await this.#ask({ op: 'remove', workload: id }, Infinity);
  }

  watch(listener: (event: DriverEvent) => void): () => void {
    return this.#listeners.add(listener);
  }

  async follow(...[id, afterSeq, sink, signal]: Parameters<Driver['follow']>): Promise<void> {
    let seq = afterSeq;
    while (!signal.aborted && !this.#closed.signal.aborted) {
      const request = { op: 'read', workload: id, afterSeq: seq, maxBytes: readBytes } as const;
      // A caller that aborts waits no longer, even while there is no runner to ask.
      const answer = await unlessAborted(this.#ask(request, Infinity, signal), signal);
      if (answer === undefined || answer.ended) return;
      const entries = decodeRecords(answer.records, answer.firstSeq);
      await sink(entries);
      seq = answer.firstSeq + entries.length - 1;
    }
  }

  acknowledge(id: string, seq: number): void {
    // It may be lost with the connection: a later one says more.
    if (this.#link.phase === 'connected') {
      this.#link.connection.tell({ op: 'acknowledge', workload: id, seq });
    }
  }

  async probe(id: string): Promise<'listening' | 'silent' | 'foreign'> {
    return (await this.#reachable()) ? this.#ask({ op: 'probe', workload: id }) : 'silent';
  }

  async listeners(id: string): Promise<Listener[]> {
    if (!(await this.#reachable())) return [];
    return (await this.#ask({ op: 'listeners', workload: id })) ?? [];
  }

  async openTerminal(id: string, spec: TerminalSpec, events: TerminalEvents): Promise<Terminal> {
    await this.#mustReach();
    // A terminal that was opened on a lost connection has ended with it.
    return this.#retried((connection) => connection.terminals.open(id, spec, events));
  }

  attach(): Promise<Terminal> {
    const sentence =
      'On this server a console is a shell beside the program; its own streams cannot be attached to.';
    return Promise.reject(new ServiceError('BAD_USER_INPUT', sentence));
  }

  async exec(id: string, spec: ExecSpec, signal: AbortSignal): Promise<ExecOutcome> {
    await this.#mustReach();
    const connection = await this.#connected();
    try {
      return await connection.request({ op: 'exec', workload: id, spec }, signal);
    } catch (error) {
      // Never sent twice: the command may have run.
      throw error instanceof ConnectionLost ? unreachable(error) : error;
    }
  }

  async pipe(...[id, spec, input, signal]: Parameters<Driver['pipe']>): Promise<Pipe> {
    await this.#mustReach();
    // It ends with the connection that tells whether the runner lives.
    const { lost } = await this.#connected();
    return openPipe({ dataDir: this.#options.dataDir, workload: id, spec, input, signal, lost });
  }

  async usage(id: string): Promise<Usage | undefined> {
    return (await this.usages([id])).get(id);
  }

  async usages(ids: readonly string[]): Promise<ReadonlyMap<string, Usage>> {
    if (!(await this.#reachable())) return new Map();
    return new Map(await this.#ask({ op: 'usages', workloads: ids }));
  }

  async isolation(): Promise<readonly LayerState[]> {
    return (await this.#reachable()) ? this.#ask({ op: 'isolation' }) : this.#askAnother();
  }

  /** One is started to be asked. Nobody stays connected to it, so it ends by itself. */
  readonly #askAnother = sharedWhileAsked((): Promise<readonly LayerState[]> => {
    const asking = new ProcessDriver(this.#options);
    return asking.#ask({ op: 'isolation' }).finally(() => asking.close());
  });

  hidesApps(): Promise<boolean> {
    return haveNetworks(this.#options.without, () => this.isolation());
  }

  // It has no volumes.
  readonly removeVolume = (): Promise<void> => Promise.resolve();
  readonly removeVolumesOf = (): Promise<void> => Promise.resolve();

  freePort(): Promise<number> {
    return this.#ask({ op: 'free-port' });
  }

  async letPort(owner: string): Promise<void> {
    if (await this.#reachable()) await this.#ask({ op: 'let-port', owner });
  }

  async traffic(): Promise<ReadonlyMap<string, AppTraffic>> {
    // Connected for that alone, a runner that nobody needs would not end.
    if (this.#link.phase !== 'connected' && !this.#isWanted()) return new Map();
    return trafficByApp((await this.#ask({ op: 'traffic' }, trafficMs)) ?? []);
  }

  async forgetTraffic(app: string): Promise<void> {
    if (await this.#reachable()) await this.#ask({ op: 'forget-traffic', app });
  }

  async setRoutes(routes: readonly EdgeRoute[]): Promise<void> {
    this.#hasRoutes = routes.length > 0;
    if (!this.#hasRoutes && !(await this.#reachable())) return; // None is started to remove some.
    await this.#ask({ op: 'set-routes', routes });
  }

  async setCertificates(certificates: Parameters<Driver['setCertificates']>[0]): Promise<void> {
    if (certificates.length === 0 && !(await this.#reachable())) return;
    await this.#ask({ op: 'set-certificates', certificates });
  }

  close(): Promise<void> {
    const link = this.#link;
    this.#link = { phase: 'closed' };
    this.#closed.abort();
    this.#beat.abort();
    if (link.phase === 'connected') link.connection.close();
    this.#listeners.close();
    return Promise.resolve();
  }

  /** Whether there is a runner, or records of one. */
  async #reachable(): Promise<boolean> {
    const { phase } = this.#link;
    if (phase === 'connected' || phase === 'closed' || hasRecords(this.#options.dataDir))
      return true;
    return this.#existing();
  }

  async #mustReach(): Promise<void> {
    if (!(await this.#reachable())) throw new ServiceError('NOT_RUNNING', 'It does not run.');
  }

  async #existing(): Promise<boolean> {
    try {
      await this.#connected(false);
      return true;
    } catch (error) {
      if (error instanceof ConnectionLost) return false;
      throw error;
    }
  }

  async #ask<Op extends RunnerRequest['op']>(
    request: Extract<RunnerRequest, { op: Op }>,
    timeoutMs?: number,
    signal?: AbortSignal,
  ): Promise<RunnerAnswers[Op]> {
    return this.#retried((connection) => connection.request(request, signal), timeoutMs);
  }

  /** Runs `work` on a connection, and again on another when that is lost. */
  async #retried<T>(
    work: (connection: Connection) => Promise<T>,
    timeoutMs = this.#options.requestTimeoutMs ?? 20_000,
  ): Promise<T> {
    const untilMs = this.#clock.now() + timeoutMs;
    for (;;) {
      try {
        const connection = await this.#connected();
        return await within(this.#clock, untilMs, work(connection));
      } catch (error) {
        if (!(error instanceof ConnectionLost)) throw error;
        if (this.#closed.signal.aborted || this.#clock.now() >= untilMs) throw unreachable(error);
      }
    }
  }

  #connected(launch = true): Promise<Connection> {
    switch (this.#link.phase) {
      case 'connected':
        return Promise.resolve(this.#link.connection);
      case 'connecting':
        return this.#link.connection;
      case 'closed':
        return Promise.reject(unreachable());
      case 'idle': {
        const connection = this.#connect(launch);
        this.#link = { phase: 'connecting', connection };
        connection.catch(() => {
          if (this.#link.phase === 'connecting') this.#link = { phase: 'idle' };
        });
        return connection;
      }
    }
  }

  #connect(launch: boolean): Promise<Connection> {
    if (!launch) return this.#greet();
    const { dataDir, runnerKey: key, without, logger } = this.#options;
    return greetOrLaunch({
      greet: () => this.#greet(),
      launch: () => {
        startRunner({ dataDir, key, without });
        logger.info({}, 'runner_started');
      },
      clock: this.#clock,
      untilMs: this.#clock.now() + (this.#options.requestTimeoutMs ?? 20_000),
      closed: this.#closed.signal,
    });
  }

  async #greet(): Promise<Connection> {
    const connection = await Connection.open(this.#options.dataDir, {
      state: ({ workload }) => this.#listeners.tell({ type: 'state', workload }),
      lost: () => this.#lost(connection),
    });
    const untilMs = this.#clock.now() + greetMs;
    try {
      await within(this.#clock, untilMs, agree(connection, this.#options));
      await configure(connection, this.#options);
      const workloads = await within(this.#clock, untilMs, connection.request({ op: 'list' }));
      if (this.#closed.signal.aborted) throw unreachable();
      this.#link = { phase: 'connected', connection };
      this.#watch(connection);
      this.#listeners.tell({ type: 'connected', workloads });
      return connection;
    } catch (error) {
      connection.close();
      throw error;
    }
  }

  /** Requests must not wait for ever for a silent runner. */
  #watch(connection: Connection): void {
    this.#beat.abort();
    this.#beat = new AbortController();
    const { signal } = this.#beat;
    listenForSigns(this.#clock, () => sign(connection), signal).catch(() => {
      if (!signal.aborted) connection.close();
    });
  }

  #reconnectLater(): void {
    if (this.#reconnects) return;
    this.#reconnects = true;
    this.#clock.after(retryLaterMs, () => {
      this.#reconnects = false;
      const { phase } = this.#link;
      if (phase === 'closed' || phase === 'connected' || !this.#isWanted()) return;
      this.#connected().catch(() => this.#reconnectLater());
    });
  }

  /** Something is to run, or there are routes: a new one serves those of the last. */
  #isWanted(): boolean {
    return hasRecords(this.#options.dataDir) || this.#hasRoutes;
  }

  #lost(connection: Connection): void {
    if (this.#link.phase !== 'connected' || this.#link.connection !== connection) return;
    this.#link = { phase: 'idle' };
    this.#options.logger.warn({}, 'runner_lost');
    this.#beat.abort();
    this.#listeners.tell({ type: 'disconnected' });
    if (!this.#isWanted()) return;
    this.#connected().catch((error: unknown) => {
      this.#options.logger.error({ err: error }, 'runner_not_restarted');
      this.#reconnectLater();
    });
  }
}
