/**
 * Owns the write side: the queue of commits and the transactions that carry them.
 *
 * 1. One transaction runs at a time. It takes all commits that wait when it begins; those that
 *    arrive meanwhile share the next one. So any number of writers costs a few syncs.
 * 2. A commit resolves, and a refused one rejects, only after its transaction is on disk. Before
 *    that, in this order: readers of this thread see it, its position is published, subscribers are
 *    told.
 * 3. A failed transaction rejects all of its commits and leaves nothing behind.
 * 4. A broken store takes nothing any more. It is broken when LMDB gives up its file or
 *    environment, or when a transaction is on disk and nobody could be told of it.
 * 5. The journal is cut as it grows: each transaction drops entries that are older than the newest
 *    `keepEntries` and were read by all followers.
 */
import { asServiceError, ServiceError } from '../../lib/errors.ts';
import type { Clock } from '../../lib/clock.ts';
import type { Logger } from '../../lib/log.ts';
import type { Activations } from './activations.ts';
import { decodeValue, encodeRecord } from '../records/codec.ts';
import { failureOf, isGivenUp } from './commit-failures.ts';
import type { CommitRequest, JournalEntry } from '../reader-and-journal.ts';
import {
  bytesOf,
  decodePosition,
  encodePosition,
  firstPosition,
  metaKeys,
  type Environment,
  type TableSet,
} from '../files/environment.ts';
import type { Followers } from './followers.ts';
import { type EncodedChange, encodeRow, entryOf, type Row } from './journal-rows.ts';
import { GroupPlan, type JudgedChange, type PlanBase } from './plan.ts';
import type { StoreReader } from '../reading/reader.ts';

/** Runs writes in one transaction; resolves once it is on disk, rejects when nothing of it is. */
export type Transact = (writes: () => void) => Promise<void>;

export interface CommitLimits {
  /** Commits that may wait; beyond: OVERLOADED. */
  pendingMax: number;
  /** Bytes of encoded records that may wait; beyond: OVERLOADED. */
  pendingMaxBytes: number;
  /** Commits one transaction takes, which bounds how long it holds the thread. */
  groupMax: number;
  /** Bytes of encoded records after which a transaction takes no further commit. */
  groupMaxBytes: number;
  /** Bytes of encoded records one commit may have. */
  commitMaxBytes: number;
}

export interface GroupCommitOptions {
  environment: Environment;
  tables: TableSet;
  reader: StoreReader;
  activations: Activations;
  shared: SharedArrayBuffer;
  followers: Pick<Followers, 'readTo'>;
  clock: Clock;
  logger: Logger;
  transact: Transact;
  limits: CommitLimits;
  /** Space left where the store lies. */
  freeBytes: () => number;
  /** Newest entries that stay in the journal. */
  keepEntries: number;
  /** The store is broken (invariant 4); called once. */
  onBroken: (error: unknown) => void;
}

interface Pending {
  actor: string;
  epoch: number;
  changes: EncodedChange[];
  bytes: number;
  resolve: (position: number) => void;
  reject: (error: ServiceError) => void;
}

interface JudgedRow extends Row {
  changes: JudgedChange[];
}

type Verdict =
  | { accepted: true; pending: Pending; position: number; row: JudgedRow }
  | { accepted: false; pending: Pending; error: ServiceError };

const trimStep = 64;

export class GroupCommit {
  readonly #options: GroupCommitOptions;
  readonly #published: BigInt64Array;
  readonly #base: PlanBase;
  readonly #listeners = new Set<(entry: JournalEntry) => void>();
  readonly #idle: (() => void)[] = [];
  #queue: Pending[] = [];
  #queuedBytes = 0;
  #busy = false;
  #closed = false;
  #broken = false;
  #position: number;
  #first: number;

  constructor(options: GroupCommitOptions) {
    this.#options = options;
    this.#published = new BigInt64Array(options.shared);
    this.#position = decodePosition(options.environment.meta.get(metaKeys.position));
    this.#first = firstPosition(options.environment);
    this.#base = committedBase(options.environment, options.reader);
    Atomics.store(this.#published, 0, BigInt(this.#position));
  }

  get position(): number {
    return this.#position;
  }

  subscribe(listener: (entry: JournalEntry) => void): () => void {
    // A function of its own: the same listener may subscribe twice.
    const own = (entry: JournalEntry): void => listener(entry);
    this.#listeners.add(own);
    return () => this.#listeners.delete(own);
  }

  commit(request: CommitRequest): Promise<number> {
    return new Promise((resolve, reject) => {
      try {
        const { actor, epoch } = request;
        this.#check(request);
        const { changes, bytes } = this.#encode(request);
        this.#queue.push({ actor, epoch, changes, bytes, resolve, reject });
        this.#queuedBytes += bytes;
      } catch (error) {
        this.#options.activations.refuse(request.actor, request.epoch);
        reject(this.#refusal(error, request.actor));
        return;
      }
      this.#start();
    });
  }

  /** Refuses new commits and waits for those accepted. */
  async close(): Promise<void> {
    this.#closed = true;
    while (this.#busy || this.#queue.length > 0) {
      await new Promise<void>((resolve) => this.#idle.push(resolve));
    }
  }

  #check({ actor, epoch }: CommitRequest): void {
    const { limits, activations } = this.#options;
    if (this.#closed || this.#broken) {
      throw new ServiceError('SHUTTING_DOWN', 'The service is shutting down.');
    }
    activations.check(actor, epoch);
    if (this.#queue.length >= limits.pendingMax || this.#queuedBytes >= limits.pendingMaxBytes) {
      throw new ServiceError('OVERLOADED', 'Too many changes wait to be stored.');
    }
  }

  /** Encodes at once, so that later changes of the caller's objects are not committed. */
  #encode(request: CommitRequest): { changes: EncodedChange[]; bytes: number } {
    let bytes = 0;
    const changes = request.changes.map((change): EncodedChange => {
      const { op, table, key } = change;
      const value = op === 'put' || op === 'insert' ? encodeRecord(table, change.value) : null;
      bytes += value?.length ?? 0;
      return { op, table, key, value };
    });
    if (bytes > this.#options.limits.commitMaxBytes) {
      throw new ServiceError('PAYLOAD_TOO_LARGE', 'The change is too large to be stored.');
    }
    return { changes, bytes };
  }

  #take(): Pending[] {
    const { groupMax, groupMaxBytes } = this.#options.limits;
    let count = 0;
    let bytes = 0;
    for (const pending of this.#queue) {
      if (count === groupMax || bytes >= groupMaxBytes) break;
      count += 1;
      bytes += pending.bytes;
    }
    this.#queuedBytes -= bytes;
    return this.#queue.splice(0, count);
  }

  #start(): void {
    if (this.#busy || this.#queue.length === 0) return;
    this.#busy = true;
    void this.#run().finally(() => this.#finish());
  }

  #finish(): void {
    this.#busy = false;
    for (const resolve of this.#idle.splice(0)) resolve();
    this.#start();
  }

  async #run(): Promise<void> {
    let verdicts: Verdict[] = [];
    let group: Pending[] = [];
    let first = this.#first;
    try {
      await this.#options.transact(() => {
        // Taken here, so that commits that came while the transaction was set up take part.
        group = this.#take();
        const plan = new GroupPlan(this.#options.tables, this.#base);
        verdicts = this.#judge(group, plan);
        first = this.#write(verdicts, plan);
      });
    } catch (error) {
      // The transaction did not even begin: what waits would fail in the same way.
      if (group.length === 0) group = this.#take();
      this.#fail(group, error);
      if (isGivenUp(error)) this.#break(error);
      return;
    }
    try {
      this.#first = first;
      this.#publish(verdicts);
    } catch (error) {
      this.#fail(group, error);
      this.#break(error);
    }
  }

  #break(error: unknown): void {
    if (this.#broken) return;
    this.#broken = true;
    this.#options.onBroken(error);
  }

  #judge(group: readonly Pending[], plan: GroupPlan): Verdict[] {
    let position = this.#position;
    const refused = new Set<string>();
    return group.map((pending): Verdict => {
      const { actor, epoch } = pending;
      try {
        this.#options.activations.check(actor, epoch);
        if (refused.has(`${actor}\n${String(epoch)}`)) {
          throw new ServiceError(
            'OVERLOADED',
            'An earlier change by the same actor failed; retry.',
          );
        }
        const changes = plan.add(pending.changes);
        position += 1;
        const row = { actor, epoch, atMs: this.#options.clock.now(), changes };
        return { accepted: true, pending, position, row };
      } catch (error) {
        refused.add(`${actor}\n${String(epoch)}`);
        return { accepted: false, pending, error: this.#refusal(error, actor) };
      }
    });
  }

  /** Writes what was accepted; returns the position of the oldest entry kept. */
  #write(verdicts: readonly Verdict[], plan: GroupPlan): number {
    const { environment, keepEntries } = this.#options;
    let position = this.#position;
    for (const { table, at, value } of plan.writes) {
      const bytes = bytesOf(environment, table);
      if (value === undefined) bytes.removeSync(at);
      else bytes.putSync(at, value as Buffer);
    }
    for (const verdict of verdicts) {
      if (!verdict.accepted) continue;
      position = verdict.position;
      environment.journal.putSync(encodePosition(position), encodeRow(verdict.row) as Buffer);
    }
    if (position === this.#position) return this.#first;
    environment.meta.putSync(metaKeys.position, encodePosition(position));
    return this.#cut(position - keepEntries, trimStep + 2 * verdicts.length);
  }

  /** Drops entries up to `last`, `most` of them at most. */
  #cut(last: number, most: number): number {
    let first = this.#first === 0 ? 1 : this.#first;
    const read = this.#options.followers.readTo(this.#position);
    const end = Math.min(last + 1, read + 1, first + most);
    for (; first < end; first++)
      this.#options.environment.journal.removeSync(encodePosition(first));
    return first;
  }

  #publish(verdicts: readonly Verdict[]): void {
    const accepted = verdicts.filter((verdict) => verdict.accepted);
    this.#options.reader.advance(
      accepted.map(({ position, row }) => ({ position, changes: row.changes })),
    );
    const last = accepted.at(-1);
    if (last !== undefined) {
      this.#position = last.position;
      Atomics.store(this.#published, 0, BigInt(this.#position));
    }
    if (this.#listeners.size > 0) for (const verdict of accepted) this.#tell(verdict);
    for (const [index, verdict] of verdicts.entries()) {
      const { pending } = verdict;
      if (verdict.accepted) pending.resolve(verdict.position);
      else {
        this.#reject(pending, verdict.error);
        const behind = verdicts.slice(index + 1).map((later) => later.pending);
        this.#forgive(verdict, [...behind, ...this.#queue]);
      }
    }
  }

  /**
   * Where a rule of a table refused the commit and nothing was queued behind it, the actor may go
   * on once it knows. What it commits before that was built on what is refused.
   */
  #forgive({ pending, error }: Verdict & { accepted: false }, behind: readonly Pending[]): void {
    const { actor, epoch } = pending;
    if (error.code !== 'CONFLICT' && error.code !== 'NOT_FOUND') return;
    if (behind.some((pending) => pending.actor === actor && pending.epoch === epoch)) return;
    // Runs after the callbacks of the rejection, which were queued just now.
    queueMicrotask(() => this.#options.activations.forgive(actor, epoch));
  }

  #tell({ row, position }: Verdict & { accepted: true }): void {
    const records = row.changes.map((change) => change.record);
    const entry = entryOf(row, position, records);
    for (const listener of this.#listeners) {
      try {
        listener(entry);
      } catch (error) {
        this.#options.logger.error({ err: error, position: entry.position }, 'subscriber_failed');
      }
    }
  }

  #fail(group: readonly Pending[], cause: unknown): void {
    const error = failureOf(cause, this.#options.freeBytes);
    this.#options.logger.error(
      { err: cause, code: error.code, commits: group.length },
      'commit_failed',
    );
    for (const pending of group) this.#reject(pending, error);
  }

  #reject(pending: Pending, error: ServiceError): void {
    this.#options.activations.refuse(pending.actor, pending.epoch);
    pending.reject(error);
  }

  #refusal(error: unknown, actor: string): ServiceError {
    if (!(error instanceof ServiceError)) {
      this.#options.logger.error({ err: error, actor }, 'commit_invalid');
    }
    return asServiceError(error);
  }
}

/**
 * The stored state before the transaction writes: decoded records where there are any, else LMDB.
 */
function committedBase(environment: Environment, reader: StoreReader): PlanBase {
  return {
    record(table, _key, text, at) {
      const known = reader.peek(table, text);
      if (known !== undefined) return known;
      const bytes = bytesOf(environment, table).get(at);
      return bytes === undefined ? undefined : decodeValue(bytes);
    },
    owner: (table, at) => bytesOf(environment, table).get(at),
  };
}
