/**
 * Owns the store on a thread that does not write it: its reads, and the journal as it goes on.
 *
 * 1. Subscribers hear of every durable entry, in order and once, after the reads of this thread see
 *    it. Whoever begins something calls `catchUp` first, and so acts on nothing that has changed.
 * 2. They are called between two stretches (see `reader.ts`), never within one, and one after the
 *    other. One that throws takes nothing from the others.
 * 3. Entries stay in the journal until this thread has read them. When it was too slow for that, it
 *    says so, and catches up no more: it must not go on with what it believes.
 */
import type { Logger } from '../../lib/log.ts';
import type { Journal, JournalEntry } from '../reader-and-journal.ts';
import { openEnvironment, tableSet, type Environment } from '../files/environment.ts';
import { Seat } from '../commit/followers.ts';
import { unreadEntryOf, type Row } from '../commit/journal-rows.ts';
import { OpenReader } from './open-reader.ts';
import { StoreReader, type EntryWitness } from './reader.ts';
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
  const reader = new StoreReader({ ...options, environment, tables, witness: arrivals });
  return new FollowingStore({ options, parts, environment, arrivals, reader });
}

/**
 * Calls `tell` when the thread with this seat should wake: once for all that was stored in a turn of
 * the loop, and not again before it woke. The returned function ends it.
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

/** Entries between the reads that moved over them and the subscribers. */
class Arrivals implements EntryWitness {
  #entries: JournalEntry[] = [];
  #next = 0;
  #last = 0;
  onArrival: () => void = () => undefined;
  onLost: (position: number) => void = () => undefined;

  readonly entry = (position: number, row: Row, records: readonly unknown[]): void => {
    // A read that failed half-way moves over the same entries again.
    if (position <= this.#last) return;
    this.#last = position;
    this.#entries.push(unreadEntryOf(row, position, records));
    this.onArrival();
  };

  readonly lost = (position: number): void => {
    this.onLost(position);
  };

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
  environment: Environment;
  arrivals: Arrivals;
  reader: StoreReader;
}

interface Subscriber {
  listener: (entry: JournalEntry) => void;
  /** The position of the reads when it subscribed. */
  after: number;
}

type Phase = 'following' | 'telling' | 'lost' | 'closed';

/** No position is published under this number. */
const never = -2n;

export class FollowingStore extends OpenReader implements ClosableReader {
  readonly #opened: Opened;
  readonly #inner: StoreReader;
  readonly #published: BigInt64Array;
  readonly #seat: Seat;
  readonly #subscribers = new Set<Subscriber>();
  #phase: Phase = 'following';
  /** The published position up to which subscribers were told. */
  #told: bigint;
  #tellingSoon = false;
  #closing: Promise<void> | undefined;

  constructor(opened: Opened) {
    super(opened.reader);
    const { arrivals, options, reader } = opened;
    this.#opened = opened;
    this.#inner = reader;
    this.#published = new BigInt64Array(options.shared);
    this.#seat = new Seat(options.shared, options.seat);
    arrivals.onArrival = () => this.#tellSoon();
    arrivals.onLost = (position) => this.#lose(position);
    this.#seat.wake();
    this.#seat.read(reader.position);
    this.#told = reader.seen;
  }

  readerOptions(): ReaderOptions {
    const { dir, shared, cacheRecords, mapBytes } = this.#opened.options;
    return { dir, shared, cacheRecords, mapBytes };
  }

  /** As of a journal: calls back with every entry from here on. The returned function ends it. */
  subscribe(listener: (entry: JournalEntry) => void): () => void {
    const subscriber = { listener, after: this.#inner.reached };
    this.#subscribers.add(subscriber);
    return () => this.#subscribers.delete(subscriber);
  }

  /**
   * Tells the subscribers of all that is durable by now, before it returns, unless somebody up the
   * stack reads, or tells: then right after. Throws when entries were lost.
   */
  catchUp(): void {
    if (Atomics.load(this.#published, 0) === this.#told) return;
    if (this.#phase === 'following') {
      if (this.#inner.inStretch) this.#tellSoon();
      else this.#tell();
    }
    if (this.#is('lost')) throw new Error('Cannot catch up with the journal: entries were lost.');
  }

  /** Call it when the writer's thread says so (`announceCommits`). */
  wake(): void {
    this.#seat.wake();
    this.catchUp();
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  #close(): Promise<void> {
    this.#phase = 'closed';
    this.#subscribers.clear();
    this.#seat.leave();
    this.#inner.close();
    return this.#opened.environment.root.close();
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
      this.#inner.moveOn();
      // What subscribers read may move on, too, and then there are more.
      for (let entry; (entry = arrivals.take()) !== undefined;) this.#tellOf(entry);
      // Unless one of them closed the store, or read over a gap.
      if (!this.#is('telling')) return;
      this.#told = this.#inner.seen;
      this.#seat.read(this.#inner.reached);
    } finally {
      if (this.#is('telling')) this.#phase = 'following';
    }
  }

  /** Asked anew: what is called in between may change it. */
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
    this.#told = never;
    this.#opened.arrivals.clear();
    this.#seat.leave();
    const { onLost } = this.#opened.parts;
    const error = new Error(
      `The journal was cut before this thread read entry ${String(position)}.`,
    );
    queueMicrotask(() => onLost(error));
  }
}
