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
import { unreadEntryOf, type Row } from '../commit/journal-rows.ts';

import { StoreReader, type EntryWitness, type StoreReaderOptions } from './reader.ts';
import type { ClosableReader, FollowerOptions, ReaderOptions } from '../store.ts';
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
  const arrivals = new Arrivals();
  const reading = { ...options, environment, tables, witness: arrivals };
  return new FollowingStore({ options, parts, arrivals, reading });
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

/** Entries that the reads of this thread have passed and its subscribers have not heard of yet. */
class Arrivals implements EntryWitness {
  #entries: JournalEntry[] = [];
  #next = 0;
  #last = 0;
  onArrival: () => void = () => undefined;
  onLost: (position: number) => void = () => undefined;

  readonly entry = (position: number, row: Row, records: readonly unknown[]): void => {
    // A read that failed half-way passes the same entries again.
    if (position <= this.#last) return;
    this.#last = position;
    this.#entries.push(unreadEntryOf(row, position, records));
    this.onArrival();
  };

  readonly lost = (position: number): void => this.onLost(position);

  take(): JournalEntry | undefined {
    const entry = this.#entries[this.#next++];
    if (entry === undefined) this.clear();
    return entry;
  }

  clear(): void {
    this.#entries = [];
    this.#next = 0;
  }
}

interface Opened {
  options: FollowerOptions;
  parts: FollowingParts;
  arrivals: Arrivals;
  reading: StoreReaderOptions;
}

interface Subscriber {
  listener: (entry: JournalEntry) => void;
  /** The position of the reads when it subscribed. */
  after: number;
}

type Phase = 'following' | 'telling' | 'lost' | 'closed';

/** No position is published under this number. */
const never = -2n;

export class FollowingStore extends StoreReader implements ClosableReader {
  readonly #opened: Opened;
  readonly #published: BigInt64Array;
  readonly #seat: Seat;
  readonly #subscribers = new Set<Subscriber>();
  #phase: Phase = 'following';
  /** The published position up to which subscribers were told. */
  #toldUpTo: bigint;
  #tellingSoon = false;

  constructor(opened: Opened) {
    super(opened.reading);
    const { arrivals, options } = opened;
    this.#opened = opened;
    this.#published = new BigInt64Array(options.shared);
    this.#seat = new Seat(options.shared, options.seat);
    arrivals.onArrival = () => this.#tellSoon();
    arrivals.onLost = (position) => this.#lose(position);
    this.#seat.wake();
    this.#seat.read(this.position);
    this.#toldUpTo = this.seen;
  }

  readerOptions(): ReaderOptions {
    const { dir, shared, cacheRecords, mapBytes } = this.#opened.options;
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
    const { arrivals } = this.#opened;
    this.#phase = 'telling';
    try {
      this.moveOn();
      // Subscribers read, too: that may bring further entries.
      for (let entry; (entry = arrivals.take()) !== undefined;) this.#tellOf(entry);
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
        this.#opened.parts.logger.error({ err, position: entry.position }, 'subscriber_failed');
      }
    }
  }

  #lose(position: number): void {
    if (this.#phase === 'lost' || this.#phase === 'closed') return;
    this.#phase = 'lost';
    this.#toldUpTo = never;
    this.#opened.arrivals.clear();
    this.#seat.leave();
    const { onLost } = this.#opened.parts;
    const error = new Error(
      `The journal was cut before this thread read entry ${String(position)}.`,
    );
    queueMicrotask(() => onLost(error));
  }
}
