/**
 * Owns the threads that compress backups, for all runs together.
 *
 * 1. No thread runs before the first block. Threads end when no block came for a while.
 * 2. Blocks are served in the order in which they come. A stream has `blocksAhead` of them under way at most,
 *    so streams that always have more are served alike.
 * 3. A thread holds two blocks, so that it has the next one when it is done with the first.
 * 4. `close` ends the threads behind the blocks that they hold; what comes fails with SHUTTING_DOWN. Twice is
 *    fine.
 *
 * The threads are bare ones: those of Piscina take 20 MB more, and a tenth of a millisecond a block.
 */
import { availableParallelism } from 'node:os';
import { Worker } from 'node:worker_threads';
import type { Clock } from '../../lib/clock.ts';
import { ServiceError } from '../../lib/errors.ts';
import type { Block } from './gzip-block.ts';

export interface GzipPoolOptions {
  clock: Clock;
  /** A thread ended by itself, amidst blocks. */
  lost: (cause: unknown) => void;
  threads?: number;
  /** What a thread runs: it answers each block with the compressed one, in order. */
  task?: URL;
}

/** A compressed block, in the memory of the block. */
type Packed = Uint8Array<ArrayBuffer>;

interface Pending {
  block: Block;
  resolve(packed: Packed): void;
  reject(error: Error): void;
}

interface Thread {
  worker: Worker;
  /** What it was sent, in order. */
  pending: Pending[];
  over: Promise<void>;
}

const threadsMax = 8;
const blocksEach = 2;
const idleMs = 10_000;

export class GzipPool {
  /** As many blocks of a stream as keep all threads busy while another is taken. */
  readonly blocksAhead: number;
  readonly #options: Required<GzipPoolOptions>;
  readonly #threads: Thread[] = [];
  readonly #waiting: Pending[] = [];
  #cancelRest: (() => void) | null = null;
  #closed: Promise<void> | null = null;

  constructor(options: GzipPoolOptions) {
    const defaults = {
      threads: Math.min(availableParallelism(), threadsMax),
      task: new URL('../../workers/tasks/gzip.ts', import.meta.url),
    };
    this.#options = { ...defaults, ...options };
    this.blocksAhead = this.#options.threads * blocksEach + 1;
  }

  /**
   * Compresses a block, whose memory is handed over and comes back with the result. Rejects with OVERLOADED
   * when the thread was lost, and with SHUTTING_DOWN.
   */
  deflate(block: Block): Promise<Packed> {
    if (this.#closed !== null) return Promise.reject(shuttingDown());
    this.#cancelRest?.();
    return new Promise((resolve, reject) => {
      this.#waiting.push({ block, resolve, reject });
      this.#send();
    });
  }

  close(): Promise<void> {
    this.#cancelRest?.();
    this.#closed ??= this.#endThreads();
    for (const waiting of this.#waiting.splice(0)) waiting.reject(shuttingDown());
    return this.#closed;
  }

  #send(): void {
    for (;;) {
      const [next] = this.#waiting;
      const thread = next && this.#idlest();
      if (!thread) return;
      this.#waiting.shift();
      thread.pending.push(next);
      thread.worker.postMessage(next.block, [next.block.memory]);
    }
  }

  /** The thread with the least to do; a new one while all are busy and there may be more. */
  #idlest(): Thread | null {
    const [thread] = this.#threads.sort((a, b) => a.pending.length - b.pending.length);
    const mayStart = this.#threads.length < this.#options.threads;
    if (thread?.pending.length === 0) return thread;
    if (mayStart) return this.#start();
    return thread !== undefined && thread.pending.length < blocksEach ? thread : null;
  }

  #start(): Thread {
    // Most of its memory lies outside the heap.
    const resourceLimits = { maxYoungGenerationSizeMb: 4 };
    const worker = new Worker(this.#options.task, { resourceLimits });
    const over = new Promise<void>((resolve) => worker.once('exit', () => resolve()));
    const thread: Thread = { worker, pending: [], over };
    let cause: unknown;
    worker.on('message', (packed: Packed) => {
      thread.pending.shift()?.resolve(packed);
      this.#send();
      this.#restLater();
    });
    worker.on('error', (error) => (cause = error));
    worker.on('exit', (code) => this.#onExit(thread, cause ?? new Error(`it ended with ${code}`)));
    this.#threads.push(thread);
    return thread;
  }

  #onExit(thread: Thread, cause: unknown): void {
    const at = this.#threads.indexOf(thread);
    if (at !== -1) this.#threads.splice(at, 1);
    if (thread.pending.length === 0) return;
    this.#options.lost(cause);
    for (const pending of thread.pending) pending.reject(lost(cause));
    this.#send();
  }

  #restLater(): void {
    if (this.#threads.some(({ pending }) => pending.length > 0)) return;
    this.#cancelRest = this.#options.clock.after(idleMs, () => void this.#endThreads());
  }

  /** A thread ends behind what it was sent: one that is ended amidst a block may take the process along. */
  async #endThreads(): Promise<void> {
    const ends = this.#threads.splice(0).map(({ worker, over }) => {
      worker.postMessage(null);
      return over;
    });
    await Promise.all(ends);
  }
}

function lost(cause: unknown): ServiceError {
  return new ServiceError('OVERLOADED', 'A thread that compressed the backup ended.', { cause });
}

function shuttingDown(): ServiceError {
  return new ServiceError('SHUTTING_DOWN', 'The service is shutting down. Try again soon.');
}
