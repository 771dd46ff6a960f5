/**
 * Owns the threads of backups and restores: what reads files, opens, inflates, checks and writes takes no time of
 * the thread that serves.
 *
 * 1. A thread is for one piece of work, and ends with it by itself: nothing of it is under way any more when the
 *    work's promise is settled, also behind an abort.
 * 2. What goes to and fro is bounded by a window.
 */
import { Worker } from 'node:worker_threads';
import { ServiceError } from '../../lib/errors.ts';
import { fromFailure } from '../../workers/task-failure.ts';
import type { BackupTask, FromBackupThread, ToBackupThread } from './messages.ts';

const entry = new URL('../../workers/tasks/backups.ts', import.meta.url);
const windowBytes = 1024 * 1024;

type Progress = Exclude<FromBackupThread, { type: 'done' | 'failed' }>;

export class BackupThread {
  /** Settled when the thread has ended. */
  readonly outcome: Promise<unknown>;
  readonly #worker: Worker;

  constructor(task: BackupTask, signal: AbortSignal, hear: (reply: Progress) => void) {
    // Most of its memory lies outside the heap.
    const resourceLimits = { maxYoungGenerationSizeMb: 4 };
    this.#worker = new Worker(entry, { workerData: task, resourceLimits });
    const { promise, resolve, reject } = Promise.withResolvers<unknown>();
    this.outcome = promise;
    promise.catch(() => undefined);
    let cause: unknown;
    let settle = (): void => reject(lost(cause));
    this.#worker.on('message', (reply: FromBackupThread) => {
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

  post(message: ToBackupThread): void {
    this.#worker.postMessage(message);
  }
}

/** The chunks that a thread sends; returns its outcome. */
export async function* chunksOf(
  task: BackupTask,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array, unknown> {
  const left = new AbortController();
  const chunks: Uint8Array[] = [];
  const news = new News();
  const either = AbortSignal.any([signal, left.signal]);
  const thread = new BackupThread(task, either, (reply) => {
    if (reply.type !== 'chunk') return;
    chunks.push(reply.bytes);
    news.tell();
  });
  const end = endOf(thread, news);
  try {
    thread.post({ type: 'room', bytes: windowBytes });
    for (;;) {
      const chunk = chunks.shift();
      if (chunk !== undefined) {
        // Whoever takes it may free it.
        const { length: bytes } = chunk;
        yield chunk;
        thread.post({ type: 'room', bytes });
      } else if (end.isThere) return await thread.outcome;
      else await news.next();
    }
  } finally {
    left.abort(new Error('Nobody reads on'));
    await end.reached;
  }
}

/** Tells when the thread has ended, be it with an error. */
export function endOf(
  thread: BackupThread,
  news: News,
): { isThere: boolean; reached: Promise<void> } {
  const end = { isThere: false, reached: Promise.resolve() };
  const tell = (): void => {
    end.isThere = true;
    news.tell();
  };
  end.reached = thread.outcome.then(tell, tell);
  return end;
}

/** Wakes one who waits for something to look at. */
export class News {
  #wake: () => void = () => undefined;

  next(): Promise<void> {
    return new Promise((resolve) => (this.#wake = resolve));
  }

  tell(): void {
    this.#wake();
  }
}

function lost(cause: unknown): ServiceError {
  return new ServiceError('OVERLOADED', 'A thread of the backup or restore ended.', { cause });
}
