/**
 * Owns a line of questions in front of a few workers: who waits, whose turn it is, and how much is sent
 * ahead of an answer.
 *
 * 1. Callers take turns by the weight of their questions, however many each has waiting.
 * 2. A worker holds `windowUs` of work at most, or one question. The rest waits here, where the turn can go
 *    to others, and where a question is dropped once its caller has left.
 * 3. `callsMax` limits the waiting questions, and no caller holds more than is left for all others. So
 *    there is always room for a new caller; beyond it RATE_LIMITED for the greedy caller alone.
 * 4. A question waits at most `deadlineMs` for its turn, and then as long again for its answer.
 */
import type { Clock } from '../lib/clock.ts';
import { ServiceError } from '../lib/errors.ts';
import type { Logger } from '../lib/log.ts';
import { FairQueue } from './fair-queue.ts';
import type { QueryCall, QueryFault } from './query-messages.ts';
import {
  type PendingQuery,
  type QueryAnswer,
  QueryWorker,
  type RunWorker,
} from './query-worker.ts';

export interface QueryLineOptions {
  workers: number;
  /** Work, in about microseconds, that a worker is sent ahead. */
  windowUs: number;
  /** Work that a caller is served before the next one's turn. */
  turnUs: number;
  callsMax: number;
  deadlineMs: number;
  /** A worker ends when it had nothing to do for this long. */
  idleMs: number;
  clock: Clock;
  logger: Logger;
  onFault?: (event: QueryFault['event']) => void;
  run: RunWorker;
}

export interface Asker {
  /** Who asks; callers of one key share its turns. */
  key: string;
  /** The time that the question may take, in about microseconds. */
  weight: number;
  /** Aborted when nobody waits any more: a question that was not sent yet is dropped. */
  caller: { readonly aborted: boolean } | null;
}

interface Pending extends PendingQuery, Omit<Asker, 'weight'> {
  askedAtMs: number;
}

// Smaller batches are not worth splitting between workers.
const batchMin = 8;
const sweepMs = 500;

export class QueryLine {
  readonly #options: QueryLineOptions;
  readonly #waiting: FairQueue<Pending>;
  readonly #workers: QueryWorker<Pending>[] = [];
  /** Questions under way of each caller, sent ones included. */
  readonly #held = new Map<string, number>();
  #underWay = 0;
  #flushing = false;
  #cancelSweep: (() => void) | null = null;
  #cancelRest: (() => void) | null = null;
  #onEmpty: (() => void) | null = null;

  constructor(options: QueryLineOptions) {
    this.#options = options;
    this.#waiting = new FairQueue({ quantum: options.turnUs });
  }

  /** Whether a worker is there to answer at once. */
  get ready(): boolean {
    return this.#workers.some((worker) => worker.ready);
  }

  /** Starts the workers ahead of the first question. */
  start(): void {
    this.#openWorkers();
    for (const worker of this.#workers) worker.open();
  }

  /** Rejects with OVERLOADED, RATE_LIMITED, DEADLINE_EXCEEDED or INTERNAL. */
  ask(call: QueryCall, { key, weight, caller }: Asker): Promise<QueryAnswer> {
    const refusal = this.#refusalOf(key);
    if (refusal) return Promise.reject(refusal);
    this.#underWay++;
    this.#held.set(key, (this.#held.get(key) ?? 0) + 1);
    return new Promise((resolve, reject) => {
      this.#enqueue({
        call,
        key,
        weight,
        caller,
        askedAtMs: this.#options.clock.now(),
        losses: 0,
        resolve: (answer) => {
          this.#waiting.charge(key, answer.tookUs - weight);
          this.#settled(key);
          resolve(answer);
        },
        reject: (error) => {
          this.#settled(key);
          reject(error);
        },
      });
    });
  }

  /** Resolves when nothing is under way any more, and no worker is left. */
  async close(): Promise<void> {
    if (this.#underWay > 0) {
      await new Promise<void>((resolve) => {
        this.#onEmpty = resolve;
      });
    }
    this.#cancelSweep?.();
    this.#cancelRest?.();
    await Promise.all(this.#workers.map((worker) => worker.stop()));
  }

  #refusalOf(key: string): ServiceError | null {
    const free = this.#options.callsMax - this.#underWay;
    if (free <= 0) return new ServiceError('OVERLOADED', 'Too many queries are under way.');
    if ((this.#held.get(key) ?? 0) <= free) return null;
    return new ServiceError('RATE_LIMITED', 'Too many queries of one caller are under way.');
  }

  #settled(key: string): void {
    const held = (this.#held.get(key) ?? 1) - 1;
    if (held === 0) this.#held.delete(key);
    else this.#held.set(key, held);
    if (--this.#underWay > 0) return;
    this.#onEmpty?.();
    this.#restLater();
  }

  #enqueue(pending: Pending): void {
    this.#waiting.push(pending.key, pending.weight, pending);
    this.#cancelRest?.();
    this.#cancelRest = null;
    this.#flushSoon();
  }

  /** Sends at the end of this turn of the loop, so that all questions go as one message. */
  #flushSoon(): void {
    if (this.#flushing || this.#waiting.size === 0) return;
    this.#flushing = true;
    setImmediate(() => {
      this.#flushing = false;
      this.#flush();
      this.#sweepLater();
    });
  }

  #flush(): void {
    this.#openWorkers();
    const takers = this.#workers.filter((worker) => worker.takes);
    if (takers.length === 0) {
      const error = new ServiceError('OVERLOADED', 'Queries are not answered for a moment.');
      for (const pending of this.#waiting.remove(() => true)) pending.reject(error);
      return;
    }
    takers.sort((a, b) => a.weight - b.weight);
    const share = Math.max(batchMin, Math.ceil(this.#waiting.size / takers.length));
    for (const worker of takers) this.#fill(worker, share);
  }

  /**
   * Sends a worker its share when less than half of its window is left. So the worker has work while an
   * answer is read, and questions that come meanwhile go together.
   */
  #fill(worker: QueryWorker<Pending>, share: number): void {
    const { windowUs } = this.#options;
    if (worker.weight >= windowUs / 2) return;
    const batch = this.#takeBatch(share, windowUs - worker.weight);
    if (batch.length > 0) worker.send(batch);
  }

  #takeBatch(callsMax: number, roomUs: number): Pending[] {
    const batch: Pending[] = [];
    for (let weight = 0; batch.length < callsMax && weight < roomUs;) {
      const pending = this.#waiting.take();
      if (pending === undefined) break;
      const late = this.#lateness(pending);
      if (late) {
        pending.reject(late);
        continue;
      }
      batch.push(pending);
      weight += pending.weight;
    }
    return batch;
  }

  #lateness({ caller, askedAtMs }: Pending): ServiceError | null {
    if (caller?.aborted === true) {
      return new ServiceError('DEADLINE_EXCEEDED', 'Nobody waits for this any more.');
    }
    const { clock, deadlineMs } = this.#options;
    return clock.now() - askedAtMs < deadlineMs ? null : tooLate();
  }

  /** Frees the memory of abandoned questions before their turn. */
  #sweepLater(): void {
    if (this.#cancelSweep || this.#waiting.size === 0) return;
    this.#cancelSweep = this.#options.clock.after(sweepMs, () => {
      this.#cancelSweep = null;
      const late = this.#waiting.remove((pending) => this.#lateness(pending) !== null);
      for (const pending of late) pending.reject(this.#lateness(pending) ?? tooLate());
      this.#sweepLater();
    });
  }

  #restLater(): void {
    const { clock, idleMs } = this.#options;
    this.#cancelRest?.();
    this.#cancelRest = clock.after(idleMs, () => {
      this.#cancelRest = null;
      for (const worker of this.#workers) worker.rest();
    });
  }

  #openWorkers(): void {
    while (this.#workers.length < this.#options.workers) {
      this.#workers.push(
        new QueryWorker({
          ...this.#options,
          again: (pending) => this.#enqueue(pending),
          onRoom: () => this.#flushSoon(),
        }),
      );
    }
  }
}

function tooLate(): ServiceError {
  return new ServiceError('DEADLINE_EXCEEDED', 'The query waited too long for its turn.');
}
