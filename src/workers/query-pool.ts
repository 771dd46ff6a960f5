/**
 * Owns the threads that answer queries. The gateway's thread collects what it is asked in one turn of
 * its loop and sends it as one message to a long-lived task, which answers with one.
 *
 * 1. No thread runs before the first question.
 * 2. What waits is bounded: beyond `callsMax` OVERLOADED.
 * 3. Each question is answered or fails by its deadline. A worker that holds one for longer is ended
 *    and started anew; so is one that crashes. What others had asked it is asked once more.
 * 4. `close` lets what is under way finish; twice is fine.
 */
import { MessageChannel, type MessagePort } from 'node:worker_threads';
import type { Piscina } from 'piscina';
import type { Clock } from '../lib/clock.ts';
import { ServiceError } from '../lib/errors.ts';
import type { Logger } from '../lib/log.ts';
import {
  answerKinds,
  type AnswerKind,
  type QueryBatch,
  type QueryBatchReply,
  type QueryCall,
} from './query-messages.ts';

export interface QueryPoolOptions {
  /** Worker threads. */
  threads: number;
  /** What each worker is given at its start; plain data. */
  setup: object;
  clock: Clock;
  logger: Logger;
  /** Questions that may be under way; default 10,000. */
  callsMax?: number;
  /** Milliseconds a question may take; default 15,000. */
  deadlineMs?: number;
  /** Memory of one worker's old objects; default 256 MiB. */
  heapMb?: number;
  /** The task; a file of `workers/tasks`. */
  task?: URL;
}

export interface QueryAnswer {
  kind: AnswerKind;
  bytes: Uint8Array;
}

export interface AskedCall extends QueryCall {
  /** Aborted when nobody waits any more: what was not sent yet is dropped. */
  caller: { readonly aborted: boolean } | null;
}

interface Pending {
  call: QueryCall;
  caller: { readonly aborted: boolean } | null;
  resolve(answer: QueryAnswer): void;
  reject(error: ServiceError): void;
  tries: number;
}

interface SentBatch {
  pending: Pending[];
  sentAtMs: number;
}

// Smaller batches are not worth splitting between workers.
const batchMin = 8;
const restartPauseMs = 250;

export class QueryPool {
  readonly #options: Required<QueryPoolOptions>;
  readonly #lanes: Lane[] = [];
  #piscina: Promise<Piscina> | null = null;
  #waiting: Pending[] = [];
  #flushing = false;
  #underWay = 0;
  #closing: Promise<void> | null = null;
  #idle: (() => void) | null = null;

  constructor(options: QueryPoolOptions) {
    this.#options = {
      callsMax: 10_000,
      deadlineMs: 15_000,
      heapMb: 256,
      task: new URL('./tasks/query.ts', import.meta.url),
      ...options,
    };
  }

  /** Rejects with OVERLOADED, DEADLINE_EXCEEDED, SHUTTING_DOWN or INTERNAL. */
  ask({ caller, ...call }: AskedCall): Promise<QueryAnswer> {
    if (this.#closing) {
      return Promise.reject(new ServiceError('SHUTTING_DOWN', 'The service is shutting down.'));
    }
    if (this.#underWay >= this.#options.callsMax) {
      return Promise.reject(new ServiceError('OVERLOADED', 'Too many queries are under way.'));
    }
    this.#underWay++;
    return new Promise((resolve, reject) => {
      const settle = (): void => {
        this.#underWay--;
        if (this.#underWay === 0) this.#idle?.();
      };
      this.#enqueue({
        call,
        caller,
        tries: 0,
        resolve: (answer) => {
          settle();
          resolve(answer);
        },
        reject: (error) => {
          settle();
          reject(error);
        },
      });
    });
  }

  /** Whether a worker is there to answer at once. */
  get ready(): boolean {
    return this.#lanes.some((lane) => lane.ready);
  }

  /** Starts the workers ahead of the first question. */
  start(): void {
    if (this.#closing) return;
    this.#openLanes();
    for (const lane of this.#lanes) lane.open();
  }

  /** How many questions are under way. */
  get underWay(): number {
    return this.#underWay;
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    if (this.#underWay > 0) {
      await new Promise<void>((resolve) => {
        this.#idle = resolve;
      });
    }
    await Promise.all(this.#lanes.map((lane) => lane.stop()));
    const piscina = await this.#piscina;
    await piscina?.destroy();
  }

  #enqueue(pending: Pending): void {
    this.#waiting.push(pending);
    if (this.#flushing) return;
    this.#flushing = true;
    setImmediate(() => {
      this.#flushing = false;
      this.#flush();
    });
  }

  #flush(): void {
    const waiting = this.#waiting.filter((pending) => {
      if (pending.caller?.aborted !== true) return true;
      pending.reject(new ServiceError('DEADLINE_EXCEEDED', 'Nobody waits for this any more.'));
      return false;
    });
    this.#waiting = [];
    if (waiting.length === 0) return;
    this.#openLanes();
    const lanes = [...this.#lanes].sort((a, b) => a.underWay - b.underWay);
    const share = Math.max(batchMin, Math.ceil(waiting.length / lanes.length));
    for (let at = 0, i = 0; at < waiting.length; at += share, i++) {
      lanes[i % lanes.length]?.send(waiting.slice(at, at + share));
    }
  }

  #openLanes(): void {
    while (this.#lanes.length < this.#options.threads) {
      this.#lanes.push(
        new Lane({
          ...this.#options,
          run: (port, signal) => this.#run(port, signal),
          again: (pending) => this.#enqueue(pending),
        }),
      );
    }
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
      maxThreads: threads,
      // The tasks are as long-lived as the pool.
      idleTimeout: Infinity,
      resourceLimits: { maxOldGenerationSizeMb: heapMb },
    });
  }
}

interface LaneOptions {
  clock: Clock;
  logger: Logger;
  deadlineMs: number;
  /** Runs the worker's task; settles when the worker is gone. */
  run(port: MessagePort, signal: AbortSignal): Promise<void>;
  /** Takes a question that the worker could not be blamed for. */
  again(pending: Pending): void;
}

interface Worker {
  port: MessagePort;
  controller: AbortController;
  /** Resolves when the worker's task has ended, however. */
  done: Promise<void>;
}

/** One worker, and what it was asked. */
class Lane {
  readonly #options: LaneOptions;
  readonly #sent = new Map<number, SentBatch>();
  #worker: Worker | null = null;
  #startNotBeforeMs = 0;
  /** Workers lost since one answered. */
  #losses = 0;
  #seq = 0;
  #cancelDeadline: (() => void) | null = null;
  #stopped = false;
  underWay = 0;
  /** Whether this worker has answered. */
  ready = false;

  constructor(options: LaneOptions) {
    this.#options = options;
  }

  /** Starts the worker when there is none: an empty batch tells when it is ready. */
  open(): void {
    if (!this.#worker && !this.#stopped) this.send([]);
  }

  send(pending: Pending[]): void {
    const worker = this.#worker ?? this.#start();
    if (!worker) {
      for (const one of pending) {
        one.reject(new ServiceError('OVERLOADED', 'Queries are not answered for a moment.'));
      }
      return;
    }
    const batch: QueryBatch = { seq: this.#seq++, calls: pending.map((one) => one.call) };
    try {
      worker.port.postMessage(batch);
    } catch (error) {
      // A value that cannot cross threads: no client can send one.
      for (const one of pending) one.reject(internal(error));
      return;
    }
    this.underWay += pending.length;
    this.#sent.set(batch.seq, { pending, sentAtMs: this.#options.clock.now() });
    this.#watchDeadline();
  }

  /** Ends the worker's task; resolves when it has let go of what it holds. */
  async stop(): Promise<void> {
    this.#stopped = true;
    this.#cancelDeadline?.();
    this.#worker?.port.close();
    await this.#worker?.done;
  }

  #start(): Worker | null {
    const { clock, logger } = this.#options;
    if (clock.now() < this.#startNotBeforeMs) return null;
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
        if (!this.#stopped) logger.error({ err: error }, 'query_worker_lost');
        this.#lost(worker, error);
      },
    );
    return worker;
  }

  #settle({ seq, kinds, ends, bytes, faults }: QueryBatchReply): void {
    for (const fault of faults) this.#options.logger.error(fault, 'graphql_internal_error');
    const batch = this.#sent.get(seq);
    if (!batch) return;
    this.#losses = 0;
    this.ready = true;
    this.#sent.delete(seq);
    this.underWay -= batch.pending.length;
    if (this.#sent.size === 0) {
      this.#cancelDeadline?.();
      this.#cancelDeadline = null;
    }
    let from = 0;
    for (const [i, pending] of batch.pending.entries()) {
      const end = ends[i] ?? from;
      const kind = answerKinds[kinds[i] ?? 1] ?? 'refused';
      pending.resolve({ kind, bytes: bytes.subarray(from, end) });
      from = end;
    }
  }

  /** The worker is gone: what it was asked is asked again once, on its own. */
  #lost(worker: Worker, cause: unknown): void {
    if (this.#worker !== worker) return;
    this.#worker = null;
    this.ready = false;
    worker.port.close();
    if (this.#stopped) return;
    // The first loss is made good at once; a worker that cannot live is not started all the time.
    if (++this.#losses > 1) this.#startNotBeforeMs = this.#options.clock.now() + restartPauseMs;
    const orphans = [...this.#sent.values()].flatMap((batch) => batch.pending);
    this.#sent.clear();
    this.underWay = 0;
    for (const pending of orphans) {
      if (pending.tries++ > 0) pending.reject(internal(cause));
      else this.#options.again(pending);
    }
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
      this.#sent.delete(seq);
      this.underWay -= batch.pending.length;
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
