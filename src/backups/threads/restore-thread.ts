/**
 * Owns the threads of restores: what opens, inflates, checks and writes takes no time of the thread that serves.
 *
 * 1. A thread is for one piece of work, and ends with it by itself: nothing of it is under way any more when the
 *    work's promise is settled, also behind an abort.
 * 2. What goes to and fro is bounded by a window.
 */
import { Worker } from 'node:worker_threads';
import { ServiceError } from '../../lib/errors.ts';
import { fromFailure } from '../../workers/task-failure.ts';
import type { CheckedArtifact, WantedArtifact } from '../restores/artifact-check.ts';
import type {
  ArtifactFile,
  FromRestoreThread,
  RestoreTask,
  ToRestoreThread,
  TreeStep,
} from './restore-messages.ts';

const entry = new URL('../../workers/tasks/restores.ts', import.meta.url);
const windowBytes = 1024 * 1024;
/** Steps that are sent and not done. */
const batchesAhead = 4;

type Progress = Exclude<FromRestoreThread, { type: 'done' | 'failed' }>;

/** Checks an artifact to its end; see `checkArtifact`. `seen` is told how many of its bytes were read. */
export async function checkInThread(
  artifact: ArtifactFile,
  wanted: WantedArtifact,
  seen: (bytes: number) => void,
  signal: AbortSignal,
): Promise<CheckedArtifact> {
  const thread = new RestoreThread({ kind: 'check', artifact, wanted }, signal, (reply) => {
    if (reply.type === 'read') seen(reply.bytes);
  });
  return (await thread.outcome) as CheckedArtifact;
}

/** What an artifact holds behind its encryption and its compression. */
export async function* readInThread(
  artifact: ArtifactFile,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array> {
  const left = new AbortController();
  const chunks: Uint8Array[] = [];
  const news = new News();
  const either = AbortSignal.any([signal, left.signal]);
  const thread = new RestoreThread({ kind: 'read', artifact }, either, (reply) => {
    if (reply.type !== 'chunk') return;
    chunks.push(reply.bytes);
    news.tell();
  });
  const state = { isOver: false };
  const over = thread.outcome
    .catch(() => undefined)
    .finally(() => {
      state.isOver = true;
      news.tell();
    });
  try {
    thread.post({ type: 'room', bytes: windowBytes });
    for (;;) {
      const chunk = chunks.shift();
      if (chunk !== undefined) {
        // Whoever takes it may free it.
        const { length: bytes } = chunk;
        yield chunk;
        thread.post({ type: 'room', bytes });
      } else if (state.isOver) {
        await thread.outcome;
        return;
      } else await news.next();
    }
  } finally {
    left.abort(new Error('Nobody reads on'));
    await over;
  }
}

/** Writes files below a folder, as `TreeWriter` does. */
export class ThreadedWriter {
  readonly #thread: RestoreThread;
  readonly #left = new AbortController();
  readonly #news = new News();
  #ahead = 0;
  #isOver = false;

  constructor(path: string, signal: AbortSignal) {
    const either = AbortSignal.any([signal, this.#left.signal]);
    this.#thread = new RestoreThread({ kind: 'write', path }, either, (reply) => {
      if (reply.type !== 'written') return;
      this.#ahead -= 1;
      this.#news.tell();
    });
    const over = (): void => {
      this.#isOver = true;
      this.#news.tell();
    };
    this.#thread.outcome.then(over, over);
  }

  /** Resolves when there is room for more. Rejects when it failed. */
  async write(steps: TreeStep[]): Promise<void> {
    if (steps.length === 0) return;
    this.#thread.post({ type: 'steps', steps });
    this.#ahead += 1;
    while (this.#ahead >= batchesAhead && !this.#isOver) await this.#news.next();
    if (this.#isOver) await this.#thread.outcome;
  }

  /** Resolves when all is written. */
  async finish(): Promise<void> {
    this.#thread.post({ type: 'steps', steps: null });
    await this.#thread.outcome;
  }

  /** Resolves when nothing is written any more. */
  async close(): Promise<void> {
    this.#left.abort(new Error('Nothing more is written'));
    await this.#thread.outcome.catch(() => undefined);
  }
}

class RestoreThread {
  /** Settled when the thread has ended. */
  readonly outcome: Promise<unknown>;
  readonly #worker: Worker;

  constructor(task: RestoreTask, signal: AbortSignal, hear: (reply: Progress) => void) {
    // Most of its memory lies outside the heap.
    const resourceLimits = { maxYoungGenerationSizeMb: 4 };
    this.#worker = new Worker(entry, { workerData: task, resourceLimits });
    const { promise, resolve, reject } = Promise.withResolvers<unknown>();
    this.outcome = promise;
    promise.catch(() => undefined);
    let cause: unknown;
    let settle = (): void => reject(lost(cause));
    this.#worker.on('message', (reply: FromRestoreThread) => {
      if (reply.type === 'done') settle = () => resolve(reply.outcome);
      else if (reply.type === 'failed') settle = () => reject(fromFailure(reply.failure));
      else hear(reply);
    });
    this.#worker.on('error', (error) => (cause = error));
    const stop = (): void => this.post({ type: 'stop' });
    this.#worker.on('exit', () => {
      signal.removeEventListener('abort', stop);
      if (signal.aborted) reject(signal.reason as Error);
      else settle();
    });
    signal.addEventListener('abort', stop, { once: true });
    if (signal.aborted) stop();
  }

  post(message: ToRestoreThread): void {
    this.#worker.postMessage(message);
  }
}

/** Wakes one who waits for something to look at. */
class News {
  #wake: () => void = () => undefined;

  next(): Promise<void> {
    return new Promise((resolve) => (this.#wake = resolve));
  }

  tell(): void {
    this.#wake();
  }
}

function lost(cause: unknown): ServiceError {
  return new ServiceError('OVERLOADED', 'A thread of the restore ended.', { cause });
}
