/**
 * Owns the driver for child processes: the client side of the runner, on this machine or on another.
 *
 * How a runner is reached, started and asked again stands in `runner-link.ts`.
 */
import path from 'node:path';

import { type Clock, pause, systemClock } from '../../lib/clock.ts';
import { ServiceError } from '../../lib/errors.ts';
import type { Logger } from '../../lib/log.ts';
import type { LayerState } from '../../protocol/isolation.ts';
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
import type { ReadAnswer } from '../../protocol/runner-messages.ts';
import { sign } from './greeting.ts';
import { haveNetworks, sharedWhileAsked } from './isolating.ts';
import { localWay, type LocalWayOptions } from './local-way.ts';
import { openPipe } from './pipe.ts';
import { RunnerLink } from './runner-link.ts';
import { ConnectionLost, type RunnerWay } from './runner-way.ts';
import { unlessAborted, unreachable, within } from './silence.ts';

export interface ProcessDriverOptions extends LocalWayOptions {
  clock?: Clock;
  /** Over all attempts of one request, apart from what waits for programs, and `follow`. Default 20 s. */
  requestTimeoutMs?: number;
}

export interface RunnerDriverOptions {
  way: RunnerWay;
  logger: Logger;
  clock?: Clock;
  requestTimeoutMs?: number;
  /** Whether workloads of an owner may be there; what is told of others is dropped. Absent: all may. */
  isOwn?: (owner: string) => boolean;
}

const readBytes = { max: 128 * 1024, min: 16 * 1024, together: 8 * 1024 * 1024 };
/** For a workload to end: the longest grace is a minute. Who asks for it asks again. */
const endMs = 180_000;
/** Between two attempts to follow where nobody can be asked. */
const followLaterMs = 2_000;
const trafficMs = 2000;

export function createProcessDriver(options: ProcessDriverOptions): Driver {
  if (!path.isAbsolute(options.dataDir)) {
    throw new Error('Cannot make a process driver: dataDir must be absolute');
  }
  return new RunnerDriver({ ...options, way: localWay(options) });
}

export class RunnerDriver implements Driver {
  readonly name: 'process' | 'remote';
  readonly runs = 'host';
  readonly images = null;
  readonly volumes = null;
  readonly #options: RunnerDriverOptions;
  readonly #clock: Clock;
  readonly #listeners: EventListeners;
  readonly #link: RunnerLink;
  /** What logs are read over. */
  readonly #logs: RunnerLink;
  /** How many workloads are followed. */
  #follows = 0;

  constructor(options: RunnerDriverOptions) {
    const { way, logger, clock = systemClock, requestTimeoutMs } = options;
    this.name = way.name;
    this.#options = options;
    this.#clock = clock;
    this.#listeners = new EventListeners(logger);
    const common = {
      way,
      logger,
      clock,
      ...(requestTimeoutMs !== undefined && { requestTimeoutMs }),
    };
    this.#link = new RunnerLink({ ...common, tell: (event) => this.#tell(event) });
    this.#logs = way.partsLogs ? new RunnerLink({ ...common, tell: () => undefined }) : this.#link;
  }

  open(): Promise<void> {
    return this.#link.open();
  }

  async answers(withinMs: number): Promise<boolean> {
    try {
      const untilMs = this.#clock.now() + withinMs;
      const connection = await within(this.#clock, untilMs, this.#link.connected());
      await within(this.#clock, untilMs, sign(connection));
      return true;
    } catch {
      return false; // Refused, lost and not answered are the same here.
    }
  }

  start(spec: WorkloadSpec): Promise<Workload> {
    return this.#link.ask({ op: 'start', spec });
  }

  async inspect(id: string): Promise<Workload | undefined> {
    if (!(await this.#link.reachable())) return undefined;
    const workload = await this.#link.ask({ op: 'inspect', workload: id });
    return workload !== null && this.#isOwn(workload) ? workload : undefined;
  }

  async list(): Promise<Workload[]> {
    if (!(await this.#link.reachable())) return [];
    const workloads = await this.#link.ask({ op: 'list' });
    return workloads.filter((workload) => this.#isOwn(workload));
  }

  async stop(id: string): Promise<void> {
    if (await this.#link.reachable()) await this.#link.ask({ op: 'stop', workload: id }, endMs);
  }

  async remove(id: string): Promise<void> {
    if (await this.#link.reachable()) {
      await this.#link.ask({ op: 'remove', workload: id }, endMs);
    }
  }

  watch(listener: (event: DriverEvent) => void): () => void {
    return this.#listeners.add(listener);
  }

  async follow(...[id, afterSeq, sink, signal]: Parameters<Driver['follow']>): Promise<void> {
    let seq = afterSeq;
    this.#follows += 1;
    try {
      while (!signal.aborted && !this.#link.closed.aborted) {
        const answer = await this.#read(id, seq, signal);
        if (answer === 'later') continue;
        if (answer === undefined || answer.ended) return;
        const entries = decodeRecords(answer.records, answer.firstSeq);
        await sink(entries);
        seq = answer.firstSeq + entries.length - 1;
      }
    } finally {
      this.#follows -= 1;
    }
  }

  acknowledge(id: string, seq: number): void {
    // It may be lost with the connection: a later one says more.
    if (!this.#link.isConnected) return;
    void this.#link
      .connected()
      .then((connection) => connection.tell({ op: 'acknowledge', workload: id, seq }));
  }

  async probe(id: string): Promise<'listening' | 'silent' | 'foreign'> {
    if (!(await this.#link.reachable())) return 'silent';
    return this.#link.ask({ op: 'probe', workload: id });
  }

  async listeners(id: string): Promise<Listener[]> {
    if (!(await this.#link.reachable())) return [];
    return (await this.#link.ask({ op: 'listeners', workload: id })) ?? [];
  }

  async openTerminal(id: string, spec: TerminalSpec, events: TerminalEvents): Promise<Terminal> {
    await this.#link.mustReach();
    let opening: Promise<Terminal> | undefined;
    try {
      // A terminal that was opened on a lost connection has ended with it.
      return await this.#link.retried((connection) => {
        opening = connection.terminals.open(id, spec, events);
        return opening;
      });
    } catch (error) {
      // What was given up may still be done, and nobody else would end it.
      opening?.then((late) => late.close()).catch(() => undefined);
      throw error;
    }
  }

  attach(): Promise<Terminal> {
    const sentence =
      'On this server a console is a shell beside the program; its own streams cannot be attached to.';
    return Promise.reject(new ServiceError('BAD_USER_INPUT', sentence));
  }

  async exec(id: string, spec: ExecSpec, signal: AbortSignal): Promise<ExecOutcome> {
    await this.#link.mustReach();
    const connection = await this.#link.there();
    const given = new AbortController();
    const isOver = AbortSignal.any([signal, given.signal]);
    const untilMs = this.#clock.now() + spec.timeoutMs + this.#link.requestMs;
    try {
      const asked = connection.request({ op: 'exec', workload: id, spec }, isOver);
      return await within(this.#clock, untilMs, this.#link.heard(asked));
    } catch (error) {
      // What was given up may still run.
      given.abort();
      // Never sent twice: the command may have run.
      throw error instanceof ConnectionLost ? unreachable(error) : error;
    }
  }

  async pipe(...[id, spec, input, signal]: Parameters<Driver['pipe']>): Promise<Pipe> {
    await this.#link.mustReach();
    // It ends with the connection that tells whether the runner lives.
    const { lost } = await this.#link.there();
    const { way } = this.#options;
    const inTime = { clock: this.#clock, answerMs: this.#link.requestMs };
    return openPipe({ way, workload: id, spec, input, signal, lost, ...inTime });
  }

  async usage(id: string): Promise<Usage | undefined> {
    return (await this.usages([id])).get(id);
  }

  async usages(ids: readonly string[]): Promise<ReadonlyMap<string, Usage>> {
    if (!(await this.#link.reachable())) return new Map();
    return new Map(await this.#link.ask({ op: 'usages', workloads: ids }));
  }

  async isolation(): Promise<readonly LayerState[]> {
    if (!(await this.#link.reachable())) return this.#askAnother();
    return this.#link.ask({ op: 'isolation' });
  }

  /** One is started to be asked. Nobody stays connected to it, so it ends by itself. */
  readonly #askAnother = sharedWhileAsked((): Promise<readonly LayerState[]> => {
    const asking = new RunnerDriver(this.#options);
    return asking.#link.ask({ op: 'isolation' }).finally(() => asking.close());
  });

  async hidesApps(): Promise<boolean> {
    if (!this.#options.way.mayHaveNetworks()) return false;
    return haveNetworks(() => this.isolation());
  }

  // It has no volumes.
  readonly removeVolume = (): Promise<void> => Promise.resolve();
  readonly removeVolumesOf = (): Promise<void> => Promise.resolve();

  freePort(): Promise<number> {
    return this.#link.ask({ op: 'free-port' });
  }

  async letPort(owner: string): Promise<void> {
    if (await this.#link.reachable()) await this.#link.ask({ op: 'let-port', owner });
  }

  async traffic(): Promise<ReadonlyMap<string, AppTraffic>> {
    // Connected for that alone, a runner that nobody needs would not end.
    if (!this.#link.isConnected && !(await this.#link.isWanted())) return new Map();
    return trafficByApp((await this.#link.ask({ op: 'traffic' }, trafficMs)) ?? []);
  }

  async forgetTraffic(app: string): Promise<void> {
    if (await this.#link.reachable()) await this.#link.ask({ op: 'forget-traffic', app });
  }

  async setRoutes(routes: readonly EdgeRoute[]): Promise<void> {
    this.#link.hasRoutes = routes.length > 0;
    // None is started to remove some.
    if (routes.length === 0 && !(await this.#link.reachable())) return;
    await this.#link.ask({ op: 'set-routes', routes });
  }

  async setCertificates(certificates: Parameters<Driver['setCertificates']>[0]): Promise<void> {
    if (certificates.length === 0 && !(await this.#link.reachable())) return;
    await this.#link.ask({ op: 'set-certificates', certificates });
  }

  close(): Promise<void> {
    this.#link.close();
    this.#logs.close();
    this.#listeners.close();
    return Promise.resolve();
  }

  #isOwn({ spec }: Workload): boolean {
    return this.#options.isOwn?.(spec.owner) ?? true;
  }

  #tell(event: DriverEvent): void {
    if (event.type === 'state' && !this.#isOwn(event.workload)) return;
    if (event.type !== 'connected') this.#listeners.tell(event);
    else {
      const workloads = event.workloads.filter((workload) => this.#isOwn(workload));
      this.#listeners.tell({ type: 'connected', workloads });
    }
  }

  /** `later`: nobody could be asked, and it makes sense to try again. Undefined: nobody waits any more. */
  async #read(
    workload: string,
    afterSeq: number,
    signal: AbortSignal,
  ): Promise<ReadAnswer | 'later' | undefined> {
    // Of many that are followed together no more is under way than of a few.
    const share = Math.floor(readBytes.together / this.#follows);
    const maxBytes = Math.min(readBytes.max, Math.max(readBytes.min, share));
    const request = { op: 'read', workload, afterSeq, maxBytes } as const;
    try {
      // A caller that aborts waits no longer, even while there is no runner to ask.
      return await unlessAborted(this.#logs.ask(request, Infinity, signal), signal);
    } catch (error) {
      const isAway = error instanceof ServiceError && error.code === 'AGENT_UNREACHABLE';
      if (!isAway || !this.#options.way.onBack) throw error;
      await this.#reachedAgain(signal);
      return 'later';
    }
  }

  /** Or after a while, or when `signal` aborts. */
  async #reachedAgain(signal: AbortSignal): Promise<void> {
    const over = new AbortController();
    const forget = this.#listeners.add(({ type }) => {
      if (type === 'connected') over.abort();
    });
    const isOver = AbortSignal.any([signal, this.#link.closed, over.signal]);
    await pause(this.#clock, followLaterMs, isOver).catch(() => undefined);
    forget();
  }
}
