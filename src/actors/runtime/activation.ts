/**
 * Owns one life of an actor, from activation to its end: its commits, the replies that wait for them, its
 * own work and the reports of that work.
 *
 * 1. A reply or effect is released when every commit made before it is durable, in order.
 * 2. A commit that fails ends the activation, and every waiting reply is rejected with its error. There is
 *    one exception: a refusal (CONFLICT, NOT_FOUND) of the newest commit, while its message is being
 *    handled, is left to the handler.
 * 3. After the end nothing is committed: the epoch prevents it.
 * 4. The cause of a message is recorded in the first commit of its handler that no rule refuses.
 * 5. A report that was not begun when the activation ends is never handled.
 */
import { ServiceError } from '../../lib/errors.ts';
import type { CommitRequest } from '../../store/reader-and-journal.ts';
import { type Change, put, remove } from '../../store/records/table.ts';
import { tables } from '../../store/records/tables.ts';
import type {
  ActorContext,
  ActorRef,
  Actors,
  Cause,
  MessageOf,
  Protocol,
  RecordCause,
} from './actor.ts';

/** A message that waits for its actor. */
export interface Envelope {
  message: { type: string };
  /** Set once the message was answered, even by its deadline. If it was not begun by then, it is skipped. */
  answered: boolean;
  resolve: (reply: unknown) => void;
  reject: (error: ServiceError) => void;
  /** Name and time of the alarm that sent it. */
  alarm?: { name: string; atMs: number };
  cause?: Cause;
  /** For a report of the actor's own work: the change that replaces a handler. */
  report?: () => unknown;
}

interface Gated {
  seq: number;
  release: () => void;
  reject: (error: ServiceError) => void;
}

export interface ActivationOptions {
  ref: ActorRef<Protocol>;
  epoch: number;
  actors: Actors;
  parts: {
    store: { commit(request: CommitRequest): Promise<number> };
    recordCause?: RecordCause;
  };
  cell: {
    /** Puts a report behind the waiting messages. */
    deliver(report: Envelope): void;
    /** The actor must be activated again, because a commit failed, or its own work or an effect crashed. */
    discard(activation: Activation, error: unknown, crashed: boolean): void;
  };
}

export class Activation implements ActorContext<Protocol> {
  readonly ref: ActorRef<Protocol>;
  readonly address: string;
  readonly epoch: number;
  readonly actors: Actors;
  /** Alarms set or cleared while the current message is handled. */
  readonly alarmsTouched = new Set<string>();
  readonly #options: ActivationOptions;
  /** Made on demand: most activations run nothing that listens to it. */
  #abort: AbortController | null = null;
  #endReason: string | null = null;
  /** Names of the actor's own work, by the promise of its end. */
  readonly #works = new Map<Promise<void>, string>();
  #gated: Gated[] = [];
  #committed = 0;
  #durable = 0;
  #handling = false;
  /** The cause of the message being handled, until it is recorded. */
  #cause: Cause | null = null;
  /** The newest commit; never rejects. */
  #newest: Promise<unknown> = Promise.resolve();
  /** Why the activation cannot continue: no reply may leave that depends on the failed commit. */
  #failure: ServiceError | null = null;

  constructor(options: ActivationOptions) {
    this.#options = options;
    this.ref = options.ref;
    this.address = `${options.ref.kind}:${options.ref.id}`;
    this.epoch = options.epoch;
    this.actors = options.actors;
  }

  get signal(): AbortSignal {
    if (this.#abort === null) {
      this.#abort = new AbortController();
      if (this.#endReason !== null) this.#abort.abort(this.#endError());
    }
    return this.#abort.signal;
  }

  get ended(): boolean {
    return this.#endReason !== null;
  }

  get cause(): Cause | null {
    return this.#cause;
  }

  /** Whether the activation must stay, because its own work runs or commits are under way. */
  get busy(): boolean {
    return this.#works.size > 0 || this.#durable < this.#committed;
  }

  get works(): string[] {
    return [...this.#works.values()];
  }

  get pendingCommits(): number {
    return this.#committed - this.#durable;
  }

  beginMessage(cause: Cause | null = null): void {
    this.#handling = true;
    this.#cause = cause;
    this.alarmsTouched.clear();
  }

  endMessage(): void {
    this.#handling = false;
    this.#cause = null;
  }

  /** Records the cause of the message being handled, unless a commit has recorded it. */
  recordCause(): void {
    if (this.#cause === null) return;
    const records = this.#caused([], this.#cause);
    this.#cause = null;
    if (records.length > 0) void this.commit(records);
  }

  commit(changes: Change[]): Promise<void> {
    if (this.ended) {
      return handled(Promise.reject(endedError(this.address)));
    }
    this.#committed += 1;
    const seq = this.#committed;
    const cause = this.#cause;
    this.#cause = null;
    const request = {
      actor: this.address,
      epoch: this.epoch,
      changes: this.#caused(changes, cause),
    };
    const commit = this.#options.parts.store.commit(request).then(
      () => this.#advance(seq),
      (thrown: unknown) => {
        if (this.#fail(seq, thrown) === 'refused') this.#cause ??= cause;
        throw thrown;
      },
    );
    this.#newest = commit.catch(() => undefined);
    return commit;
  }

  #caused(changes: Change[], cause: Cause | null): Change[] {
    const { recordCause } = this.#options.parts;
    if (cause === null || recordCause === undefined) return changes;
    const records = recordCause(cause, changes, this.address);
    return records.length === 0 ? changes : [...changes, ...records];
  }

  afterCommit(effect: () => void): void {
    const run = (): void => {
      try {
        effect();
      } catch (error) {
        this.#options.cell.discard(this, error, true);
      }
    };
    this.gate(run, () => undefined);
  }

  /** Calls `release` once everything committed so far is durable (invariant 1), else `reject`. */
  gate(release: () => void, reject: (error: ServiceError) => void): void {
    if (this.#failure !== null) reject(this.#failure);
    else if (this.#durable >= this.#committed) release();
    else this.#gated.push({ seq: this.#committed, release, reject });
  }

  alarm(name: string, atMs: number, message: MessageOf<Protocol>): Change {
    this.alarmsTouched.add(name);
    return put(tables.alarms, { actor: this.address, name, atMs, message });
  }

  clearAlarm(name: string): Change {
    this.alarmsTouched.add(name);
    return remove(tables.alarms, [this.address, name]);
  }

  work(name: string, work: (signal: AbortSignal) => Promise<void>): void {
    if (this.ended) return;
    const done: Promise<void> = work(this.signal)
      .catch((error: unknown) => {
        // The stored state counts this work as under way, and says how to continue it.
        if (!this.ended) this.#options.cell.discard(this, error, true);
      })
      .then(() => void this.#works.delete(done));
    this.#works.set(done, name);
  }

  report<T>(change: () => T | Promise<T>, stop?: AbortSignal): Promise<T> {
    const signal = stop === undefined ? this.signal : AbortSignal.any([this.signal, stop]);
    if (signal.aborted) return handled(Promise.reject(signal.reason as Error));
    const { promise, resolve, reject } = Promise.withResolvers<T>();
    const isFirstAnswer = (): boolean => {
      if (envelope.answered) return false;
      signal.removeEventListener('abort', drop);
      return (envelope.answered = true);
    };
    const fail = (error: Error): void => {
      if (isFirstAnswer()) reject(error);
    };
    // The mailbox skips a message that was answered.
    const drop = (): void => fail(signal.reason as Error);
    const envelope: Envelope = {
      message: { type: 'report' },
      report: change,
      answered: false,
      resolve: (reply) => {
        if (isFirstAnswer()) resolve(reply as T);
      },
      reject: fail,
    };
    signal.addEventListener('abort', drop, { once: true });
    this.#options.cell.deliver(envelope);
    return handled(promise);
  }

  /** Ends the activation: no commits from now on, and its own work is aborted. Twice is fine. */
  end(reason: string): void {
    this.#endReason ??= reason;
    this.#abort?.abort(this.#endError());
  }

  #endError(): Error {
    return new Error(`${this.address} ended: ${String(this.#endReason)}`);
  }

  async idle(): Promise<void> {
    await Promise.all(this.#works.keys());
  }

  async settled(): Promise<void> {
    while (this.pendingCommits > 0) await this.#newest;
  }

  #advance(seq: number): void {
    this.#durable = seq;
    while (this.#gated[0] !== undefined && this.#gated[0].seq <= seq) {
      this.#gated.shift()?.release();
    }
  }

  #fail(seq: number, thrown: unknown): 'refused' | 'failed' {
    const refused =
      thrown instanceof ServiceError && (thrown.code === 'CONFLICT' || thrown.code === 'NOT_FOUND');
    this.#durable = seq;
    if (refused && this.#handling && seq === this.#committed) {
      this.#advance(seq);
      return 'refused';
    }
    const error =
      thrown instanceof ServiceError
        ? thrown
        : new ServiceError('INTERNAL', 'The change could not be stored.', { cause: thrown });
    this.#failure ??= error;
    const gated = this.#gated;
    this.#gated = [];
    for (const one of gated) one.reject(error);
    this.#options.cell.discard(this, error, false);
    return 'failed';
  }
}

export function endedError(address: string): ServiceError {
  return new ServiceError('OVERLOADED', 'This was interrupted; try again.', {
    cause: new Error(`Cannot commit: the activation of ${address} has ended`),
  });
}

/** The promise itself, with a handler, so that an unawaited rejection does not end the process. */
function handled<T>(promise: Promise<T>): Promise<T> {
  promise.catch(() => undefined);
  return promise;
}
