/**
 * Owns one worker that answers queries, and its unanswered questions.
 *
 * 1. The worker starts with the first batch, and again after it was lost. A worker that fails repeatedly is
 *    not started all the time.
 * 2. A batch that is not answered by its deadline fails and ends the worker. The worker's other questions
 *    are handed back once; a question that was lost with a worker twice fails.
 * 3. Memory of answers that were given back goes to the worker again. New memory each time would cost the
 *    worker more to touch than to write, and would cost this thread pauses of the collector.
 */
import { MessageChannel, type MessagePort } from 'node:worker_threads';
import type { Clock } from '../lib/clock.ts';
import { ServiceError } from '../lib/errors.ts';
import type { Logger } from '../lib/log.ts';
import {
  answerKinds,
  type AnswerKind,
  type QueryBatch,
  type QueryBatchReply,
  type QueryCall,
  type QueryFault,
} from './query-messages.ts';

export interface QueryAnswer {
  kind: AnswerKind;
  body: Uint8Array;
  /** Microseconds that the worker took for the answer. */
  tookUs: number;
  /** Says that nobody reads the bytes any more, so that their memory may be used again. Optional. */
  giveBack: () => void;
}

/** A question, and the callbacks for its answer. */
export interface PendingQuery {
  readonly call: QueryCall;
  /** The time that the question may take, as guessed when it was asked. */
  readonly weight: number;
  /** How many workers were lost while they had the question. */
  losses: number;
  resolve(answer: QueryAnswer): void;
  reject(error: ServiceError): void;
}

/** Runs the worker's task; settles when the worker is gone. */
export type RunWorker = (port: MessagePort, signal: AbortSignal) => Promise<void>;

export interface QueryWorkerOptions<P extends PendingQuery> {
  clock: Clock;
  logger: Logger;
  /** Called for each fault that a worker reports for the log. */
  onFault?: (event: QueryFault['event']) => void;
  deadlineMs: number;
  run: RunWorker;
  /** Takes back a question that was lost with the worker. */
  again(pending: P): void;
  /** A batch is settled: there is room for another. */
  onRoom(): void;
}

interface Worker {
  port: MessagePort;
  controller: AbortController;
  /** Resolves when the worker's task has ended, for whatever reason. */
  done: Promise<void>;
}

interface SentBatch<P> {
  pending: readonly P[];
  weight: number;
  sentAtMs: number;
}

const restartPauseMs = 250;
/** As many batches as a worker has under way. */
const sparesMax = 2;
const spareBytesMax = 1024 * 1024;

export class QueryWorker<P extends PendingQuery> {
  readonly #options: QueryWorkerOptions<P>;
  readonly #sent = new Map<number, SentBatch<P>>();
  #worker: Worker | null = null;
  #resting: Promise<void> = Promise.resolve();
  #startNotBeforeMs = 0;
  /** Workers lost since the last answer. */
  #losses = 0;
  #seq = 0;
  #cancelDeadline: (() => void) | null = null;
  #stopped = false;
  #spares: ArrayBuffer[] = [];
  #weight = 0;
  #ready = false;

  constructor(options: QueryWorkerOptions<P>) {
    this.#options = options;
  }

  /** Whether this worker has answered. */
  get ready(): boolean {
    return this.#ready;
  }

  /** The weight of the unanswered questions. */
  get weight(): number {
    return this.#weight;
  }

  /** Whether it takes a batch: there is a worker, or one may be started now. */
  get takes(): boolean {
    return this.#worker !== null || this.#options.clock.now() >= this.#startNotBeforeMs;
  }

  /** Starts the worker when there is none. The answer to an empty batch says that it is ready. */
  open(): void {
    if (!this.#worker && !this.#stopped && this.takes) this.send([]);
  }

  /** May be called only while `takes` is true. */
  send(pending: readonly P[]): void {
    const worker = this.#worker ?? this.#start();
    const calls = pending.map((one) => one.call);
    const spare = this.#spares.pop() ?? null;
    const batch: QueryBatch = { seq: this.#seq++, calls, spare };
    try {
      worker.port.postMessage(batch, spare === null ? [] : [spare]);
    } catch (error) {
      // A value cannot cross threads. No client can send such a value.
      for (const one of pending) one.reject(internal(error));
      return;
    }
    const weight = pending.reduce((sum, one) => sum + one.weight, 0);
    this.#weight += weight;
    this.#sent.set(batch.seq, { pending, weight, sentAtMs: this.#options.clock.now() });
    this.#watchDeadline();
  }

  /** Releases a worker that has nothing to answer; the next batch starts another. */
  rest(): void {
    const worker = this.#worker;
    if (!worker || this.#sent.size > 0) return;
    this.#worker = null;
    this.#ready = false;
    worker.port.close();
    this.#resting = worker.done;
  }

  /** Ends the worker's task; resolves when it has released everything. */
  async stop(): Promise<void> {
    this.#stopped = true;
    this.#cancelDeadline?.();
    this.#worker?.port.close();
    await Promise.all([this.#worker?.done, this.#resting]);
  }

  #start(): Worker {
    const { port1, port2 } = new MessageChannel();
    const controller = new AbortController();
    port1.on('message', (reply: QueryBatchReply) => this.#settle(reply));
    // The worker's thread keeps the process alive while it should live; its port need not.
    port1.unref();
    const run = this.#options.run(port2, controller.signal);
    const worker: Worker = { port: port1, controller, done: run.catch(() => undefined) };
    this.#worker = worker;
    run.then(
      () => this.#lost(worker, null),
      (error: unknown) => {
        if (!this.#stopped) this.#options.logger.error({ err: error }, 'query_worker_lost');
        this.#lost(worker, error);
      },
    );
    return worker;
  }

  #settle({ seq, kinds, ends, tookUs, bytes, faults }: QueryBatchReply): void {
    for (const { event, ...fault } of faults) {
      this.#options.logger.error(fault, event);
      this.#options.onFault?.(event);
    }
    const batch = this.#sent.get(seq);
    if (!batch) return;
    this.#losses = 0;
    this.#ready = true;
    this.#drop(seq, batch);
    if (this.#sent.size === 0) {
      this.#cancelDeadline?.();
      this.#cancelDeadline = null;
    }
    const lend = this.#taker(bytes.buffer, batch.pending.length);
    let from = 0;
    for (const [i, pending] of batch.pending.entries()) {
      const end = ends[i] ?? from;
      const kind = answerKinds[kinds[i] ?? 1] ?? 'refused';
      const body = bytes.subarray(from, end);
      pending.resolve({ kind, body, tookUs: tookUs[i] ?? 0, giveBack: lend() });
      from = end;
    }
    this.#options.onRoom();
  }

  /** Each answer gets a function that gives back its part of a batch's memory. The last one frees it. */
  #taker(memory: ArrayBuffer, answers: number): () => () => void {
    let lent = answers;
    return () => {
      let isLent = true;
      return () => {
        if (!isLent) return;
        isLent = false;
        if (--lent > 0 || memory.byteLength > spareBytesMax) return;
        if (this.#spares.length < sparesMax) this.#spares.push(memory);
      };
    };
  }

  /** The worker is gone: its questions are handed back. */
  #lost(worker: Worker, cause: unknown): void {
    if (this.#worker !== worker) return;
    this.#worker = null;
    this.#ready = false;
    worker.port.close();
    if (this.#stopped) return;
    // After the first loss a worker is started at once; after further losses there is a pause.
    if (++this.#losses > 1) {
      this.#startNotBeforeMs = this.#options.clock.now() + restartPauseMs;
    }
    const orphans = [...this.#sent.values()].flatMap((batch) => batch.pending);
    this.#sent.clear();
    this.#weight = 0;
    for (const pending of orphans) {
      if (pending.losses++ > 0) pending.reject(internal(cause));
      else this.#options.again(pending);
    }
    this.#options.onRoom();
  }

  #drop(seq: number, batch: SentBatch<P>): void {
    this.#sent.delete(seq);
    this.#weight = this.#sent.size === 0 ? 0 : this.#weight - batch.weight;
  }

  #watchDeadline(): void {
    if (this.#cancelDeadline) return;
    const oldest = this.#sent.values().next().value;
    if (!oldest) return;
    const { clock, deadlineMs } = this.#options;
    const restMs = oldest.sentAtMs + deadlineMs - clock.now();
    this.#cancelDeadline = clock.after(Math.max(restMs, 1), () => {
      this.#cancelDeadline = null;
      this.#endStuck();
      this.#watchDeadline();
    });
  }

  #endStuck(): void {
    const { clock, deadlineMs, logger } = this.#options;
    const due = clock.now() - deadlineMs;
    const late = [...this.#sent].filter(([, batch]) => batch.sentAtMs <= due);
    if (late.length === 0) return;
    for (const [seq, batch] of late) {
      this.#drop(seq, batch);
      for (const pending of batch.pending) {
        pending.reject(new ServiceError('DEADLINE_EXCEEDED', 'The query took too long.'));
      }
    }
    logger.error({ batches: late.length }, 'query_worker_stuck');
    const worker = this.#worker;
    if (!worker) return;
    worker.controller.abort();
    this.#lost(worker, null);
  }
}

function internal(cause: unknown): ServiceError {
  return new ServiceError('INTERNAL', 'Something went wrong on our side.', { cause });
}
