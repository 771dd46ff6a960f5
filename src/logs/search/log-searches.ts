/**
 * Owns searches through logs as others ask for them. One thread does them all, by turns, and leaves the
 * processor to all else.
 *
 * 1. Searches under way are bounded: `perCallerMax` for each caller (RATE_LIMITED), `searchesMax` in sum
 *    (OVERLOADED).
 * 2. A search is given up when nobody waits for it any more. One that is much later than its bounds allow ends
 *    the thread: DEADLINE_EXCEEDED.
 * 3. The thread starts with a search, and ends when there was none for a while. When it is lost, its searches
 *    fail, and the next one starts another.
 */
import { Worker } from 'node:worker_threads';
import { type Clock, whenLate } from '../../lib/clock.ts';
import { ServiceError, shuttingDown } from '../../lib/errors.ts';
import type { Logger } from '../../lib/log.ts';
import { OwnTally } from '../../lib/tally.ts';
import { fromFailure } from '../../workers/task-failure.ts';
import type { FromSearchThread, SearchThreadStart, ToSearchThread } from './messages.ts';
import type { LogSearch, LogSearchResult } from './search.ts';

export interface LogSearchesOptions {
  /** The logs' folder in the data directory. */
  dir: string;
  clock: Clock;
  logger: Logger;
  perCallerMax?: number;
  searchesMax?: number;
  /** Milliseconds, and bytes of the log, after which a search says how far it came. */
  searchMs?: number;
  searchBytes?: number;
  /** Milliseconds without a search after which the thread ends. */
  idleMs?: number;
  /** Milliseconds after which a search that says nothing is given up, and the thread with it. */
  stuckMs?: number;
  /** The task; a file of `workers/tasks`. */
  task?: URL;
}

export interface Searcher {
  /** Callers of one key share its bound. */
  key: string;
  signal: AbortSignal | null;
}

interface Pending {
  resolve(result: LogSearchResult): void;
  reject(error: Error): void;
}

const defaults = {
  perCallerMax: 2,
  searchesMax: 16,
  searchMs: 2_500,
  searchBytes: 512 * 1024 * 1024,
  idleMs: 20_000,
  stuckMs: 20_000,
  task: new URL('../../workers/tasks/log-search.ts', import.meta.url),
};
const stepMs = 10;
const resourceLimits = { maxOldGenerationSizeMb: 256, maxYoungGenerationSizeMb: 16 };

export class LogSearches {
  readonly #options: Required<LogSearchesOptions>;
  readonly #callers = new OwnTally();
  readonly #pending = new Map<number, Pending>();
  #worker: Worker | null = null;
  #over: Promise<void> = Promise.resolve();
  #cancelRest: (() => void) | null = null;
  #id = 0;
  #closed = false;

  constructor(options: LogSearchesOptions) {
    this.#options = { ...defaults, ...options };
  }

  /**
   * Rejects with BAD_USER_INPUT for what cannot be looked for, RATE_LIMITED, OVERLOADED, DEADLINE_EXCEEDED,
   * SHUTTING_DOWN.
   */
  async find(search: LogSearch, { key, signal }: Searcher): Promise<LogSearchResult> {
    this.#admit(key, signal);
    const id = this.#id++;
    const { promise, resolve, reject } = Promise.withResolvers<LogSearchResult>();
    this.#pending.set(id, { resolve, reject });
    this.#callers.add(key);
    const giveUp = (): void => {
      this.#post({ type: 'stop', id });
      reject(nobodyWaits());
    };
    signal?.addEventListener('abort', giveUp, { once: true });
    const { clock, stuckMs } = this.#options;
    const onTime = whenLate(clock, stuckMs, () => this.#endStuck());
    try {
      this.#open();
      this.#post({ type: 'search', id, search });
      return await promise;
    } finally {
      onTime();
      signal?.removeEventListener('abort', giveUp);
      this.#callers.remove(key);
      this.#pending.delete(id);
      this.#restLater();
    }
  }

  /** Searches under way fail; twice is fine. */
  async close(): Promise<void> {
    this.#closed = true;
    this.#failAll(shuttingDown());
    this.#cancelRest?.();
    this.#end();
    await this.#over;
  }

  #admit(key: string, signal: AbortSignal | null): void {
    if (this.#closed) throw shuttingDown();
    if (signal?.aborted === true) throw nobodyWaits();
    const { perCallerMax, searchesMax } = this.#options;
    if (this.#callers.count(key) >= perCallerMax) {
      const detail = `${perCallerMax} searches of yours are under way. Wait for one to end.`;
      throw new ServiceError('RATE_LIMITED', detail);
    }
    if (this.#pending.size >= searchesMax) {
      throw new ServiceError(
        'OVERLOADED',
        'Too many searches are under way. Try again in a moment.',
      );
    }
  }

  #open(): void {
    this.#cancelRest?.();
    this.#cancelRest = null;
    this.#worker ??= this.#start();
    this.#worker.ref();
  }

  #start(): Worker {
    const { dir, searchMs, searchBytes, task, logger } = this.#options;
    const workerData: SearchThreadStart = { dir, searchMs, searchBytes, stepMs };
    const worker = new Worker(task, { workerData, resourceLimits });
    worker.on('message', (message: FromSearchThread) => {
      const pending = this.#pending.get(message.id);
      if (message.type === 'done') pending?.resolve(message.result);
      else pending?.reject(fromFailure(message.failure));
    });
    worker.on('error', (error) => logger.error({ err: error }, 'search_thread_lost'));
    this.#over = new Promise((resolve) => {
      worker.once('exit', () => {
        resolve();
        if (this.#worker === worker) this.#lost();
      });
    });
    return worker;
  }

  #lost(): void {
    this.#worker = null;
    this.#failAll(new ServiceError('OVERLOADED', 'The search was cut short. Try it again.'));
  }

  #endStuck(): void {
    this.#options.logger.error({ searches: this.#pending.size }, 'search_thread_stuck');
    this.#failAll(new ServiceError('DEADLINE_EXCEEDED', 'The search took too long.'));
    this.#end();
  }

  #failAll(error: ServiceError): void {
    for (const pending of this.#pending.values()) pending.reject(error);
  }

  #restLater(): void {
    if (this.#pending.size > 0 || this.#worker === null) return;
    const { clock, idleMs } = this.#options;
    this.#worker.unref();
    this.#cancelRest?.();
    this.#cancelRest = clock.after(idleMs, () => this.#end());
  }

  /** It only reads, so it ends wherever it is. The next search starts another. */
  #end(): void {
    const worker = this.#worker;
    this.#worker = null;
    void worker?.terminate();
  }

  #post(message: ToSearchThread): void {
    this.#worker?.postMessage(message);
  }
}

function nobodyWaits(): ServiceError {
  return new ServiceError('DEADLINE_EXCEEDED', 'Nobody waits for this any more.');
}
