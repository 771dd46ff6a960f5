/**
 * Owns the thread that packs backups, for all runs together: the thread that serves hands chunks of dumps on, and
 * neither compresses, encrypts, hashes, writes nor sends.
 *
 * 1. It is started by the first run, and ends when there was none for a while.
 * 2. Of a dump a window is under way at most.
 * 3. `close` ends the thread behind what it does, or where a disk or a bucket holds it up, after a while; its runs
 *    fail with SHUTTING_DOWN. What is left then is swept by the next run. Twice is fine.
 */
import { MessageChannel, type MessagePort, Worker } from 'node:worker_threads';
import type { Clock } from '../../lib/clock.ts';
import { ServiceError, shuttingDown } from '../../lib/errors.ts';
import type { Logger } from '../../lib/log.ts';
import { fromFailure } from '../../workers/task-failure.ts';
import type { Writing } from '../runs/artifact.ts';
import type { WrittenArtifact } from '../runs/pack.ts';
import { untilAborted } from '../streams/until-aborted.ts';
import { abortable } from '../streams/abortable.ts';
import { givable } from '../streams/chunks.ts';
import type { FromPackRun, GzipThreadLost, PackRun, PackTask, ToPackRun } from './messages.ts';

export interface PackerOptions {
  clock: Clock;
  logger: Logger;
  /** The thread ends when nothing was packed for so long. */
  idleMs?: number;
}

const entry = new URL('../../workers/tasks/packing.ts', import.meta.url);
const idleMsDefault = 30_000;
const windowBytes = 2 ** 20;
/** How long closing waits for the thread. */
const endMs = 5_000;

interface Thread {
  worker: Worker;
  /** Those of which something is under way. */
  runs: Set<Run>;
  over: Promise<void>;
}

export class Packer {
  readonly #options: Required<PackerOptions>;
  #thread: Thread | null = null;
  #cancelRest: (() => void) | null = null;
  #closed: Promise<void> | null = null;

  constructor(options: PackerOptions) {
    this.#options = { idleMs: idleMsDefault, ...options };
  }

  /** As `packInto`, of which this is the way through the thread. */
  async pack(
    dump: AsyncIterable<Uint8Array>,
    task: Omit<PackTask, 'key'>,
    { key, signal, progress, leaves }: Omit<Writing, 'destination'>,
  ): Promise<WrittenArtifact> {
    signal.throwIfAborted();
    const run = this.#begin({ ...task, key }, progress);
    const either = AbortSignal.any([signal, run.failed]);
    try {
      for await (const chunk of abortable(dump, either)) {
        await untilAborted(run.room(), either);
        run.send(chunk);
      }
      run.post({ type: 'end' });
      return await untilAborted(run.outcome, either);
    } catch (error) {
      run.post({ type: 'stop' });
      leaves(run.over);
      throw error;
    }
  }

  close(): Promise<void> {
    this.#closed ??= this.#end();
    return this.#closed;
  }

  async #end(): Promise<void> {
    this.#cancelRest?.();
    const thread = this.#thread;
    if (thread === null) return;
    for (const run of thread.runs) run.fail(shuttingDown());
    this.#endThread(thread);
    const cancel = this.#options.clock.after(endMs, () => void thread.worker.terminate());
    await thread.over;
    cancel();
  }

  #begin(task: PackTask, progress: (bytes: number) => void): Run {
    if (this.#closed !== null) throw shuttingDown();
    this.#cancelRest?.();
    const thread = (this.#thread ??= this.#start());
    const { port1, port2: port } = new MessageChannel();
    thread.worker.postMessage({ ...task, port } satisfies PackRun, [port]);
    const run = new Run(port1, progress);
    thread.runs.add(run);
    void run.over.then(() => this.#onRunOver(thread, run));
    return run;
  }

  #onRunOver(thread: Thread, run: Run): void {
    thread.runs.delete(run);
    if (thread !== this.#thread || thread.runs.size > 0 || this.#closed !== null) return;
    const { clock, idleMs } = this.#options;
    this.#cancelRest = clock.after(idleMs, () => this.#endThread(thread));
  }

  #start(): Thread {
    // Most of its memory lies outside the heap.
    const resourceLimits = { maxYoungGenerationSizeMb: 4 };
    const worker = new Worker(entry, { resourceLimits });
    const { logger } = this.#options;
    worker.on('message', ({ cause }: GzipThreadLost) =>
      logger.error({ cause }, 'gzip_thread_lost'),
    );
    worker.on('error', (error) => logger.error({ err: error }, 'packing_thread_lost'));
    const over = new Promise<void>((resolve) => worker.once('exit', () => resolve()));
    const thread: Thread = { worker, runs: new Set(), over };
    void over.then(() => {
      if (this.#thread === thread) this.#thread = null;
    });
    return thread;
  }

  /** It ends behind the blocks that it compresses. */
  #endThread(thread: Thread): void {
    if (this.#thread === thread) this.#thread = null;
    thread.worker.postMessage(null);
  }
}

/** One run, as it is seen from here. */
class Run {
  readonly outcome: Promise<WrittenArtifact>;
  /** Resolves when nothing of it is under way in the thread any more. */
  readonly over: Promise<void>;
  readonly #port: MessagePort;
  readonly #failed = new AbortController();
  #underWay = 0;
  #wake: () => void = () => undefined;

  constructor(port: MessagePort, progress: (bytes: number) => void) {
    this.#port = port;
    const outcome = Promise.withResolvers<WrittenArtifact>();
    this.outcome = outcome.promise;
    port.on('message', (message: FromPackRun) => {
      switch (message.type) {
        case 'taken':
          this.#underWay -= message.bytes;
          return this.#wake();
        case 'progress':
          return progress(message.bytes);
        case 'done':
          return outcome.resolve(message.artifact);
        case 'failed':
          this.fail(fromFailure(message.failure));
      }
    });
    this.over = new Promise((resolve) => {
      port.once('close', () => {
        this.fail(lost());
        resolve();
      });
    });
  }

  /** Aborted when it failed, with the reason. */
  get failed(): AbortSignal {
    return this.#failed.signal;
  }

  /** Whoever waits for it hears of the first reason. */
  fail(reason: Error): void {
    this.#failed.abort(reason);
  }

  /** Resolves when there is room for another chunk. */
  async room(): Promise<void> {
    while (this.#underWay >= windowBytes) {
      await new Promise<void>((resolve) => (this.#wake = resolve));
    }
  }

  send(chunk: Uint8Array): void {
    const bytes = givable(chunk);
    this.#underWay += bytes.length;
    this.post({ type: 'chunk', bytes }, [bytes.buffer]);
  }

  post(message: ToPackRun, transfer: ArrayBuffer[] = []): void {
    this.#port.postMessage(message, transfer);
  }
}

function lost(): ServiceError {
  return new ServiceError('OVERLOADED', 'The thread that packed the backup ended.');
}
