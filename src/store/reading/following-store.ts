/**
 * Owns the store on a thread that does not write it: its reads, and the entries of the journal as
 * they come.
 *
 * 1. Subscribers hear of every durable entry once and in order, after the reads of this thread see
 *    it. Whoever begins something calls `catchUp` first, so that it acts on the present state.
 * 2. They are called one after the other, between two stretches (see `reader.ts`), never within
 *    one. One that throws does not keep the others from hearing.
 * 3. Entries stay in the journal until this thread has read them. When it was too slow and lost
 *    some, it says so and catches up no more: what it has in memory may be wrong.
 */
import type { Logger } from '../../lib/log.ts';
import type { Journal, JournalEntry } from '../reader-and-journal.ts';
import { openEnvironment, tableSet } from '../files/environment.ts';
import { Seat } from '../commit/followers.ts';
import { entryOf, type Row } from '../commit/journal-rows.ts';
import { StoreReader, type StoreReaderOptions } from './reader.ts';
import type { FollowerOptions, ReaderOptions } from '../store.ts';
import type { Table } from '../records/table.ts';
import { tables as allTables } from '../records/tables.ts';

export interface FollowingParts {
  logger: Logger;
  /** Called once when entries were lost: the thread cannot go on. */
  onLost: (error: Error) => void;
  tables?: Readonly<Record<string, Table<never>>>;
}

/** Opens the store in a thread, from what `admitFollower` gave out for it alone. */
export function openFollowingStore(
  options: FollowerOptions,
  parts: FollowingParts,
): FollowingStore {
  const tables = tableSet(parts.tables ?? allTables);
  const environment = openEnvironment({ ...options, tables });
  return new FollowingStore({ ...options, environment, tables }, parts);
}

/**
 * Calls `tell` when the thread with this seat should wake: once for all entries of a turn of the
 * loop, and not again before the thread woke. The returned function ends it.
 */
export function announceCommits(
  journal: Pick<Journal, 'subscribe'>,
  { shared, seat: number }: FollowerOptions,
  tell: () => void,
): () => void {
  const seat = new Seat(shared, number);
  let due: NodeJS.Immediate | undefined;
  const unsubscribe = journal.subscribe(() => {
    due ??= setImmediate(() => {
      due = undefined;
      if (seat.call()) tell();
    });
  });
  return () => {
    unsubscribe();
    clearImmediate(due);
  };
}

interface Subscriber {
  listener: (entry: JournalEntry) => void;
  /** The position of the reads when it subscribed. */
  after: number;
}

type Phase = 'following' | 'telling' | 'lost' | 'closed';

/** No position is published under this number. */
const never = -2n;

export class FollowingStore extends StoreReader {
  readonly #options: FollowerOptions;
  readonly #parts: FollowingParts;
  readonly #published: BigInt64Array;
  readonly #seat: Seat;
  readonly #subscribers = new Set<Subscriber>();
  #phase: Phase = 'following';
  /** Entries that reads have passed and subscribers have not heard of yet. */
  readonly #arrived: JournalEntry[] = [];
  #lastArrived = 0;
  /** The published position up to which subscribers were told. */
  #toldUpTo: bigint;
  #tellingSoon = false;

  constructor(options: FollowerOptions & StoreReaderOptions, parts: FollowingParts) {
    super(options);
    this.#options = options;
    this.#parts = parts;
    this.#published = new BigInt64Array(options.shared);
    this.#seat = new Seat(options.shared, options.seat);
    this.witness = {
      passed: (position, row, records) => this.#passed(position, row, records),
      lost: (position) => this.#lose(position),
    };
    this.#seat.wake();
    this.#seat.read(this.position);
    this.#toldUpTo = this.seen;
  }

  readerOptions(): ReaderOptions {
    const { dir, shared, cacheRecords, mapBytes } = this.#options;
    return { dir, shared, cacheRecords, mapBytes };
  }

  /**
   * Calls back with every entry from here on, as a `Journal` does. The returned function ends it.
   */
  subscribe(listener: (entry: JournalEntry) => void): () => void {
    const subscriber = { listener, after: this.reached };
    this.#subscribers.add(subscriber);
    return () => this.#subscribers.delete(subscriber);
  }

  /**
   * Tells the subscribers of all that is durable by now, before it returns. Where a caller up the
   * stack is reading or telling, they hear right after it. Throws when entries were lost.
   */
  catchUp(): void {
    if (Atomics.load(this.#published, 0) === this.#toldUpTo) return;
    if (this.#phase === 'following') {
      if (this.inStretch) this.#tellSoon();
      else this.#tell();
    }
    if (this.#is('lost')) throw new Error('Cannot catch up with the journal: entries were lost.');
  }

  /** Call it when the writer's thread says so (`announceCommits`). */
  wake(): void {
    this.#seat.wake();
    this.catchUp();
  }

  override close(): Promise<void> {
    this.#phase = 'closed';
    this.#subscribers.clear();
    this.#seat.leave();
    return super.close();
  }

  #passed(position: number, row: Row, records: readonly unknown[]): void {
    // A read that failed half-way passes the same entries again.
    if (position <= this.#lastArrived) return;
    this.#lastArrived = position;
    this.#arrived.push(entryOf(row, position, records));
    this.#tellSoon();
  }

  #lose(position: number): void {
    if (this.#phase === 'lost' || this.#phase === 'closed') return;
    this.#phase = 'lost';
    this.#toldUpTo = never;
    this.#arrived.length = 0;
    this.#seat.leave();
    const error = new Error(
      `The journal was cut before this thread read entry ${String(position)}.`,
    );
    queueMicrotask(() => this.#parts.onLost(error));
  }

  #tellSoon(): void {
    if (this.#tellingSoon || this.#phase !== 'following') return;
    this.#tellingSoon = true;
    // No stretch outlasts a microtask.
    queueMicrotask(() => {
      this.#tellingSoon = false;
      if (this.#phase === 'following') this.#tell();
    });
  }

  #tell(): void {
    this.#phase = 'telling';
    try {
      this.moveOn();
      // Subscribers read, too: that may bring further entries.
      for (const entry of this.#arrived) this.#tellOf(entry);
      this.#arrived.length = 0;
      // A subscriber may have closed the store, or its read may have found a gap.
      if (!this.#is('telling')) return;
      this.#toldUpTo = this.seen;
      this.#seat.read(this.reached);
    } finally {
      if (this.#is('telling')) this.#phase = 'following';
    }
  }

  /** A method, because the phase may change in what is called in between. */
  #is(phase: Phase): boolean {
    return this.#phase === phase;
  }

  #tellOf(entry: JournalEntry): void {
    for (const { listener, after } of this.#subscribers) {
      if (entry.position <= after) continue;
      try {
        listener(entry);
      } catch (err) {
        this.#parts.logger.error({ err, position: entry.position }, 'subscriber_failed');
      }
    }
  }
}
