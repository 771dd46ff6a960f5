/**
 * Owns the threads that answer queries: some for light queries, and one for heavy ones. The heavy thread
 * leaves the processor to the others, so that no light query waits behind a heavy one.
 *
 * 1. No thread runs before the first question of its kind. A thread ends when no question came for a while.
 * 2. `query-line.ts` decides whose turn it is and how much may be under way. `query-worker.ts` starts and
 *    ends a worker.
 * 3. `close` lets what is under way finish; twice is fine.
 */
import type { MessagePort } from 'node:worker_threads';
import type { Piscina } from 'piscina';
import type { Clock } from '../lib/clock.ts';
import { ServiceError } from '../lib/errors.ts';
import type { Logger } from '../lib/log.ts';
import { type Asker, QueryLine, type QueryLineOptions } from './query-line.ts';
import type { QueryCall, QueryFault, QueryWorkerStart } from './query-messages.ts';
import type { QueryAnswer, RunWorker } from './query-worker.ts';

export interface QueryPoolOptions {
  /** Worker threads for light queries. */
  threads: number;
  /** What each worker is given at its start; plain data. */
  setup: object;
  clock: Clock;
  logger: Logger;
  /** Called for each fault that a worker reports for the log. */
  onFault?: (event: QueryFault['event']) => void;
  /** Light questions that may be under way; default 10,000. */
  callsMax?: number;
  /** Heavy questions that may be under way; default 500. */
  heavyCallsMax?: number;
  /** Milliseconds a question may wait for its turn, and then for its answer; default 15,000. */
  deadlineMs?: number;
  /** Milliseconds without a question of its kind after which a thread ends; default 20,000. */
  idleMs?: number;
  /** Memory of one worker's old objects; default 256 MiB. */
  heapMb?: number;
  /** The task; a file of `workers/tasks`. */
  task?: URL;
}

export interface PoolAsker extends Asker {
  /** Whether the query may take so long that light ones must not wait behind it. */
  heavy: boolean;
}

// The way to a worker and back takes about 100 us. Half of the window hides it, and nobody notices the
// whole.
const lightWindowUs = 2_000;
const lightTurnUs = 500;
// One at a time, because a question that was sent cannot be withdrawn, neither for another caller's turn
// nor when its own caller leaves.
const heavyWindowUs = 1;
const heavyTurnUs = 10_000;

export class QueryPool {
  readonly #light: QueryLine;
  readonly #heavy: QueryLine;
  readonly #threads: Threads[] = [];
  #closing: Promise<void> | null = null;

  constructor(options: QueryPoolOptions) {
    const { threads, setup, callsMax = 10_000, heavyCallsMax = 500, heapMb = 256 } = options;
    const { task = new URL('./tasks/query.ts', import.meta.url) } = options;
    const newLine = (
      yields: boolean,
      bounds: Pick<QueryLineOptions, 'workers' | 'windowUs' | 'turnUs' | 'callsMax'>,
    ): QueryLine => {
      const pool = new Threads({ threads: bounds.workers, setup, yields, heapMb, task });
      this.#threads.push(pool);
      const run: RunWorker = (port, signal) => pool.run(port, signal);
      return new QueryLine({ deadlineMs: 15_000, idleMs: 20_000, ...options, ...bounds, run });
    };
    this.#light = newLine(false, {
      workers: threads,
      windowUs: lightWindowUs,
      turnUs: lightTurnUs,
      callsMax,
    });
    this.#heavy = newLine(true, {
      workers: 1,
      windowUs: heavyWindowUs,
      turnUs: heavyTurnUs,
      callsMax: heavyCallsMax,
    });
  }

  /** Rejects with OVERLOADED, RATE_LIMITED, DEADLINE_EXCEEDED, SHUTTING_DOWN or INTERNAL. */
  ask(call: QueryCall, asker: PoolAsker): Promise<QueryAnswer> {
    if (this.#closing) {
      return Promise.reject(new ServiceError('SHUTTING_DOWN', 'The service is shutting down.'));
    }
    return (asker.heavy ? this.#heavy : this.#light).ask(call, asker);
  }

  /** Whether a worker is there to answer a light question at once. */
  get ready(): boolean {
    return this.#light.ready;
  }

  /** Starts the workers for light questions ahead of the first. */
  start(): void {
    if (!this.#closing) this.#light.start();
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    await Promise.all([this.#light.close(), this.#heavy.close()]);
    await Promise.all(this.#threads.map((threads) => threads.close()));
  }
}

interface ThreadsOptions {
  threads: number;
  setup: object;
  yields: boolean;
  heapMb: number;
  task: URL;
}

/**
 * The threads of one line. The two lines have threads of their own, because a thread cannot raise its
 * priority again.
 */
class Threads {
  readonly #options: ThreadsOptions;
  #piscina: Promise<Piscina> | null = null;

  constructor(options: ThreadsOptions) {
    this.#options = options;
  }

  async run(port: MessagePort, signal: AbortSignal): Promise<void> {
    const { setup, yields } = this.#options;
    const piscina = await (this.#piscina ??= this.#start());
    const task: QueryWorkerStart = { port, setup, yields };
    await piscina.run(task, { name: 'serveQueries', transferList: [port], signal });
  }

  async close(): Promise<void> {
    const piscina = await this.#piscina;
    await piscina?.destroy();
  }

  async #start(): Promise<Piscina> {
    const { Piscina } = await import('piscina');
    const { threads, heapMb, task } = this.#options;
    return new Piscina({
      filename: task.href,
      minThreads: 0,
      maxThreads: threads,
      // Tasks last as long as their worker is wanted.
      idleTimeout: 100,
      // Answers are text and bytes, and young objects rarely live long.
      resourceLimits: { maxOldGenerationSizeMb: heapMb, maxYoungGenerationSizeMb: 12 },
    });
  }
}
