/**
 * Owns the threads that answer queries: some for light ones, one for heavy ones, so that no light
 * query waits behind a heavy one.
 *
 * 1. No thread runs before the first question of its kind; the one for heavy questions ends when
 *    none came for a while.
 * 2. What is under way is bounded: beyond `callsMax` OVERLOADED, and before that RATE_LIMITED for a
 *    caller who holds more than is left for all others. Callers take turns.
 * 3. Each question is answered or fails by its deadline. A worker that holds one for longer is ended
 *    and started anew; so is one that crashes. What others had asked it is asked once more.
 * 4. `close` lets what is under way finish; twice is fine.
 */
import type { MessagePort } from 'node:worker_threads';
import type { Piscina } from 'piscina';
import type { Clock } from '../lib/clock.ts';
import { ServiceError } from '../lib/errors.ts';
import type { Logger } from '../lib/log.ts';
import { type AskedCall, QueryLine } from './query-line.ts';
import type { QueryAnswer } from './query-worker.ts';

export interface QueryPoolOptions {
  /** Worker threads for light queries. */
  threads: number;
  /** What each worker is given at its start; plain data. */
  setup: object;
  clock: Clock;
  logger: Logger;
  /** Light questions that may be under way; default 10,000. */
  callsMax?: number;
  /** The same of heavy ones; default 500. */
  heavyCallsMax?: number;
  /** Milliseconds a question may wait for its turn, and then for its answer; default 15,000. */
  deadlineMs?: number;
  /** Milliseconds without a heavy question after which their thread ends; default 60,000. */
  heavyIdleMs?: number;
  /** Memory of one worker's old objects; default 256 MiB. */
  heapMb?: number;
  /** The task; a file of `workers/tasks`. */
  task?: URL;
}

export interface PoolCall extends AskedCall {
  /** Whether it may take so long that light ones must not wait behind it. */
  heavy: boolean;
}

// The way to a worker and back takes about 100 us: half of this hides it, and nobody feels the whole.
const lightWindowUs = 2_000;
const lightTurnUs = 500;
// One at a time: what is sent cannot be taken back, neither for another's turn nor when its caller left.
const heavyWindowUs = 1;
const heavyTurnUs = 10_000;

export class QueryPool {
  readonly #options: Required<QueryPoolOptions>;
  readonly #light: QueryLine;
  readonly #heavy: QueryLine;
  #piscina: Promise<Piscina> | null = null;
  #closing: Promise<void> | null = null;

  constructor(options: QueryPoolOptions) {
    this.#options = {
      callsMax: 10_000,
      heavyCallsMax: 500,
      deadlineMs: 15_000,
      heavyIdleMs: 60_000,
      heapMb: 256,
      task: new URL('./tasks/query.ts', import.meta.url),
      ...options,
    };
    const { threads, callsMax, heavyCallsMax, heavyIdleMs, deadlineMs, clock, logger } =
      this.#options;
    const common = {
      deadlineMs,
      clock,
      logger,
      run: (port: MessagePort, signal: AbortSignal) => this.#run(port, signal),
    };
    this.#light = new QueryLine({
      ...common,
      workers: threads,
      windowUs: lightWindowUs,
      turnUs: lightTurnUs,
      callsMax,
      idleMs: null,
    });
    this.#heavy = new QueryLine({
      ...common,
      workers: 1,
      windowUs: heavyWindowUs,
      turnUs: heavyTurnUs,
      callsMax: heavyCallsMax,
      idleMs: heavyIdleMs,
    });
  }

  /** Rejects with OVERLOADED, RATE_LIMITED, DEADLINE_EXCEEDED, SHUTTING_DOWN or INTERNAL. */
  ask({ heavy, ...call }: PoolCall): Promise<QueryAnswer> {
    if (this.#closing) {
      return Promise.reject(new ServiceError('SHUTTING_DOWN', 'The service is shutting down.'));
    }
    return (heavy ? this.#heavy : this.#light).ask(call);
  }

  /** Whether a worker is there to answer a light question at once. */
  get ready(): boolean {
    return this.#light.ready;
  }

  /** Starts the workers for light questions ahead of the first. */
  start(): void {
    if (!this.#closing) this.#light.start();
  }

  /** How many light questions are under way. */
  get underWay(): number {
    return this.#light.underWay;
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    await Promise.all([this.#light.close(), this.#heavy.close()]);
    const piscina = await this.#piscina;
    await piscina?.destroy();
  }

  async #run(port: MessagePort, signal: AbortSignal): Promise<void> {
    const piscina = await (this.#piscina ??= this.#start());
    const task = { port, setup: this.#options.setup };
    await piscina.run(task, { name: 'serveQueries', transferList: [port], signal });
  }

  async #start(): Promise<Piscina> {
    const { Piscina } = await import('piscina');
    const { threads, heapMb, task } = this.#options;
    return new Piscina({
      filename: task.href,
      minThreads: 0,
      maxThreads: threads + 1,
      // Tasks last as long as their worker is wanted.
      idleTimeout: 100,
      resourceLimits: { maxOldGenerationSizeMb: heapMb },
    });
  }
}
