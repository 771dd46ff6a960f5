/**
 * Owns a driver's connection to its runner, as it comes and goes.
 *
 * 1. A runner is started when it is needed and none answers. It is started again when it dies while
 *    something is to run, or while there are routes.
 * 2. A connection is given up when the runner does not answer for long, and opened again until it
 *    answers. A runner that hangs is not replaced by another.
 * 3. Where the way to a runner is lost, and may come back with the same connection, what was asked waits, and what is asked
 *    then fails at once.
 * 4. After a lost connection requests are sent again, which all but `exec` and `pipe` allow, until
 *    `requestTimeoutMs` is over. Then they fail with AGENT_UNREACHABLE.
 */
import { setImmediate } from 'node:timers/promises';

import type { Clock } from '../../lib/clock.ts';
import { ServiceError } from '../../lib/errors.ts';
import type { Logger } from '../../lib/log.ts';
import type { RunnerAnswers, RunnerRequest } from '../../protocol/runner-messages.ts';
import type { Workload } from '../../protocol/workload.ts';
import type { DriverEvent } from '../driver.ts';
import { Connection, type Link } from './connection.ts';
import { sign } from './greeting.ts';
import { greetOrLaunch } from './launching.ts';
import { ConnectionLost, type RunnerWay } from './runner-way.ts';
import { listenForSigns, unreachable, within } from './silence.ts';

export interface RunnerLinkOptions {
  way: RunnerWay;
  logger: Logger;
  clock: Clock;
  /** Over all attempts of one request that is given no other time. Default 20 s. */
  requestTimeoutMs?: number;
  tell: (event: DriverEvent) => void;
}

/** Between two attempts to reach a runner that does not answer, and for it to greet. */
const [retryLaterMs, greetMs] = [2_000, 5_000];

export class RunnerLink {
  /** Whether there are routes: a new runner serves those of the last. */
  hasRoutes = false;
  /** Over all attempts of one request. */
  readonly requestMs: number;
  readonly #options: RunnerLinkOptions;
  readonly #clock: Clock;
  readonly #way: RunnerWay;
  readonly #closed = new AbortController();
  readonly #forget: (() => void)[];
  /** Whether it was told that nobody is reached. */
  #isToldAway = false;
  #link: Link = { phase: 'idle' };
  #beat = new AbortController();
  #isAgainLater = false;

  constructor(options: RunnerLinkOptions) {
    this.#options = options;
    this.requestMs = options.requestTimeoutMs ?? 20_000;
    this.#clock = options.clock;
    this.#way = options.way;
    const { way, logger } = options;
    const notReached = (err: unknown): void =>
      logger.warn({ err, ...way.place }, 'runner_not_reached');
    this.#forget = [
      way.onAway?.(() => this.#away()) ?? (() => undefined),
      way.onBack?.(() => void this.#found(notReached)) ?? (() => undefined),
    ];
  }

  /** Aborts when it is closed. */
  get closed(): AbortSignal {
    return this.#closed.signal;
  }

  get isConnected(): boolean {
    return this.#link.phase === 'connected';
  }

  /** Connects to what is there, and starts a runner only where something is on record. */
  async open(): Promise<void> {
    const { logger } = this.#options;
    try {
      if (!(await this.#way.hasRecords())) {
        await this.#existing();
        return;
      }
    } catch (err) {
      if (this.#way.onBack === undefined) throw err;
      logger.info({ err, ...this.#way.place }, 'runner_away');
      this.#againLater();
      return;
    }
    await this.connected().catch((err: unknown) => {
      // What runs is reported when the runner answers.
      logger.error({ err, ...this.#way.place }, 'runner_not_reached');
      this.#againLater();
    });
  }

  close(): void {
    const link = this.#link;
    this.#link = { phase: 'closed' };
    this.#closed.abort();
    for (const forget of this.#forget) forget();
    this.#beat.abort();
    if (link.phase === 'connected') link.connection.close();
  }

  /** The one there is, or a new one. */
  connected(launch = true): Promise<Connection> {
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

  /** The same, unless it is known that nobody is reached: then what is sent would be done much later. */
  async there(): Promise<Connection> {
    if (this.#way.isAway?.() === true) throw unreachable();
    return this.isConnected ? this.connected() : this.heard(this.connected());
  }

  /** Whether there is a runner, or records of one. */
  async reachable(): Promise<boolean> {
    const { phase } = this.#link;
    if (this.#way.isAway?.() === true) throw unreachable();
    if (phase === 'connected' || phase === 'closed' || (await this.#way.hasRecords())) return true;
    return this.#existing();
  }

  async mustReach(): Promise<void> {
    if (!(await this.reachable())) throw new ServiceError('NOT_RUNNING', 'It does not run.');
  }

  /** Something is to run, or there are routes. */
  async isWanted(): Promise<boolean> {
    return this.hasRoutes || (await this.#way.hasRecords());
  }

  ask<Op extends RunnerRequest['op']>(
    request: Extract<RunnerRequest, { op: Op }>,
    timeoutMs?: number,
    signal?: AbortSignal,
  ): Promise<RunnerAnswers[Op]> {
    return this.retried((connection) => connection.request(request, signal), timeoutMs);
  }

  /** Runs `work` on a connection, and again on another when that is lost. */
  async retried<T>(
    work: (connection: Connection) => Promise<T>,
    timeoutMs = this.requestMs,
  ): Promise<T> {
    const untilMs = this.#clock.now() + timeoutMs;
    for (;;) {
      try {
        const connection = await within(this.#clock, untilMs, this.there());
        return await within(this.#clock, untilMs, this.heard(work(connection)));
      } catch (error) {
        if (!(error instanceof ConnectionLost)) throw error;
        if (this.#closed.signal.aborted || this.#clock.now() >= untilMs) throw unreachable(error);
        // One that breaks says so in a turn of its own.
        await setImmediate();
      }
    }
  }

  /** Rejects with AGENT_UNREACHABLE once it turns out that nobody can be asked. */
  heard<T>(answer: Promise<T>): Promise<T> {
    const way = this.#way;
    if (way.unlessHeard === undefined) return answer;
    return new Promise((resolve, reject) => {
      const cancel = way.unlessHeard?.(() => reject(unreachable())) ?? (() => undefined);
      void answer.then(resolve, reject).finally(cancel);
    });
  }

  async #existing(): Promise<boolean> {
    try {
      await this.connected(false);
      return true;
    } catch (error) {
      if (error instanceof ConnectionLost) return false;
      throw error;
    }
  }

  #connect(launch: boolean): Promise<Connection> {
    if (!launch) return this.#greet();
    return greetOrLaunch({
      greet: () => this.#greet(),
      launch: () => this.#way.launch(),
      clock: this.#clock,
      untilMs: this.#clock.now() + this.requestMs,
      closed: this.#closed.signal,
    });
  }

  async #greet(): Promise<Connection> {
    const { tell } = this.#options;
    const connection = await Connection.open(this.#way, {
      state: (workload) => tell({ type: 'state', workload }),
      lost: () => this.#lost(connection),
    });
    const untilMs = this.#clock.now() + greetMs;
    try {
      await within(this.#clock, untilMs, this.#way.agree(connection));
      await this.#way.configure(connection);
      const workloads = await within(this.#clock, untilMs, connection.request({ op: 'list' }));
      if (this.#closed.signal.aborted) throw unreachable();
      this.#link = { phase: 'connected', connection };
      this.#watch(connection);
      this.#isToldAway = false;
      tell({ type: 'connected', workloads });
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
      if (signal.aborted) return;
      // It is the way that is silent, not the runner: another sign is awaited when that is back.
      if (this.#isToldAway) this.#beat.abort();
      else connection.close();
    });
  }

  #againLater(): void {
    if (this.#isAgainLater) return;
    this.#isAgainLater = true;
    this.#clock.after(retryLaterMs, () => {
      this.#isAgainLater = false;
      if (this.#way.isAway === undefined) void this.#reconnect(() => undefined);
      // Where that is known, it is told when somebody can be asked again. A short silence is never told.
      else if (!this.#way.isAway()) void this.#found(() => undefined);
    });
  }

  async #reconnect(onFailure: (error: unknown) => void): Promise<void> {
    const { phase } = this.#link;
    if (phase === 'closed' || phase === 'connected') return;
    try {
      if (!(await this.isWanted())) return;
    } catch {
      this.#againLater(); // Nobody can be asked.
      return;
    }
    await this.connected().catch((error: unknown) => {
      onFailure(error);
      this.#againLater();
    });
  }

  /** The connection may come back. */
  #away(): void {
    if (this.#link.phase !== 'connected' || this.#isToldAway) return;
    this.#isToldAway = true;
    this.#options.tell({ type: 'disconnected' });
  }

  /** Somebody can be asked again. What is known of workloads may be wrong, also where there is no runner. */
  async #found(onFailure: (error: unknown) => void): Promise<void> {
    const { tell } = this.#options;
    try {
      if (!(await this.reachable())) tell({ type: 'connected', workloads: [] });
      else {
        const connection = await this.connected();
        if (!this.#isToldAway) return; // It is a new one, and was told.
        this.#foundAgain(connection, await this.ask({ op: 'list' }));
      }
    } catch (error) {
      if (this.#closed.signal.aborted) return;
      onFailure(error);
      this.#againLater();
    }
  }

  #foundAgain(connection: Connection, workloads: Workload[]): void {
    if (!this.#isToldAway) return; // It was lost meanwhile, and another one was told.
    this.#isToldAway = false;
    this.#watch(connection);
    this.#options.tell({ type: 'connected', workloads });
  }

  #lost(connection: Connection): void {
    if (this.#link.phase !== 'connected' || this.#link.connection !== connection) return;
    const { logger, tell } = this.#options;
    this.#link = { phase: 'idle' };
    logger.warn({ ...this.#way.place }, 'runner_lost');
    this.#beat.abort();
    if (!this.#isToldAway) tell({ type: 'disconnected' });
    this.#isToldAway = false;
    void this.#reconnect((err) =>
      logger.error({ err, ...this.#way.place }, 'runner_not_restarted'),
    );
  }
}
