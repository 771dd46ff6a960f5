/**
 * Owns the reads of one thread: a snapshot of LMDB and the decoded records that belong to it.
 *
 * 1. A stretch is synchronous code up to the next microtask. All reads of a stretch see one state.
 *    It holds everything that was durable when the stretch began.
 * 2. Cache and snapshot belong to the same journal position. A stretch that finds a newer one
 *    published renews the snapshot, and drops from the cache what the entries in between changed.
 * 3. A snapshot is held for `snapshotHoldMs` at most, so that an idle thread does not keep LMDB
 *    from using old pages again.
 */
import type { Transaction } from 'lmdb';
import { decodeValue } from '../records/codec.ts';
import type { ListOptions, Reader } from '../reader-and-journal.ts';
import {
  bytesOf,
  decodePosition,
  encodePosition,
  endOf,
  indexKey,
  metaKeys,
  recordKey,
  recordRange,
  type Bytes,
  type Environment,
  type TableSet,
} from '../files/environment.ts';
import { decodeRow, type Row } from '../commit/journal-rows.ts';
import { decodeKey, keyMaxBytes, keyText } from '../records/keys.ts';
import { RecordCache } from './record-cache.ts';
import type { Key, KeyPart, Table } from '../records/table.ts';

/** `use` and `done` count who needs the snapshot; lmdb-js has both, its types only the latter. */
type Snapshot = Transaction & { use(): void };

const snapshotHoldMs = 100;
/** With more entries than this, reading them costs more than decoding the records anew. */
const catchUpMax = 2_000;
const listDefault = 1_000;
/** A count is cached as a list of one number, under a limit that no list has. */
const countShape = 0;

export interface StoreReaderOptions {
  environment: Environment;
  tables: TableSet;
  /** Where the writer publishes the newest durable position: one 64-bit integer. */
  shared: SharedArrayBuffer;
  cacheRecords: number;
}

/** Hears of each entry that the reads of this thread pass, in order, before they see it. */
interface EntryWitness {
  /** `records`: by the index of its change, each record that was decoded anyway. */
  passed(position: number, row: Row, records: readonly unknown[]): void;
  /** This entry, and maybe later ones, left the journal before it could be read. */
  lost(position: number): void;
}

/** What the writer's thread knows of an entry already. */
export interface KnownEntry {
  position: number;
  changes: readonly { table: string; key: Key; record: unknown; fresh: boolean }[];
}

export class StoreReader implements Reader {
  readonly #environment: Environment;
  readonly #tables: TableSet;
  readonly #published: BigInt64Array;
  readonly #cache: RecordCache;
  /** The published position the snapshot was taken after. */
  #seen = -1n;
  #position = 0;
  #snapshot: Snapshot | undefined;
  #holdTimer: NodeJS.Timeout | undefined;
  #inStretch = false;
  #closed = false;
  #closing: Promise<void> | undefined;
  readonly #endStretch = (): void => {
    this.#inStretch = false;
  };

  protected witness: EntryWitness | undefined;

  constructor(options: StoreReaderOptions) {
    this.#environment = options.environment;
    this.#tables = options.tables;
    this.#published = new BigInt64Array(options.shared);
    this.#cache = new RecordCache(options.tables.values(), { records: options.cacheRecords });
  }

  get position(): number {
    this.#begin();
    return this.#position;
  }

  get newestPosition(): number {
    const isRead = Atomics.load(this.#published, 0) === this.#seen;
    return isRead && !this.#closed ? this.#position : this.position;
  }

  /** The position of the latest read. */
  get reached(): number {
    return this.#position;
  }

  /** The published position that `reached` holds all of. */
  get seen(): bigint {
    return this.#seen;
  }

  get inStretch(): boolean {
    return this.#inStretch;
  }

  get<R>(from: Table<R>, key: Key): Readonly<R> | undefined {
    this.#begin();
    return this.#get(from.name, key, keyText(key)) as R | undefined;
  }

  find<R, I extends string>(
    from: Table<R, I>,
    index: I,
    key: readonly KeyPart[],
  ): Readonly<R> | undefined {
    this.#begin();
    const text = keyText(key);
    const known = this.#cache.list(from.name, index, text, 1);
    if (known !== undefined) return known[0] as R | undefined;
    if (from.indexes[index].unique === undefined) return this.list(from, index, key, onlyFirst)[0];
    const at = indexKey(index, key);
    if (at.length > keyMaxBytes) return undefined;
    const owner = this.#read(bytesOf(this.#environment, from.name), at);
    if (owner === undefined) return undefined;
    const record = this.#owner(from.name, owner);
    this.#cache.keepList(from.name, index, text, key.length, 1, [record]);
    return record as R;
  }

  list<R, I extends string>(
    from: Table<R, I>,
    index: I,
    prefix: readonly KeyPart[],
    options?: ListOptions,
  ): Readonly<R>[] {
    this.#begin();
    const limit = options?.limit ?? listDefault;
    const reverse = options?.reverse ?? false;
    if (limit <= 0) return [];
    if (options?.after !== undefined) {
      return this.#list(from.name, index, prefix, reverse, limit, options.after) as R[];
    }
    const text = keyText(prefix);
    const shape = reverse ? -limit : limit;
    const known = this.#cache.list(from.name, index, text, shape);
    // A copy, so that a caller may sort it.
    if (known !== undefined) return known.slice() as R[];
    const found = this.#list(from.name, index, prefix, reverse, limit, undefined);
    this.#cache.keepList(from.name, index, text, prefix.length, shape, found);
    return found.slice() as R[];
  }

  *scan<R>(from: Table<R>): Iterable<Readonly<R>> {
    this.#begin();
    const snapshot = this.#held();
    // It holds the snapshot itself: the walk may last longer than the stretch, and sees the state
    // of its start.
    snapshot.use();
    try {
      const range = bytesOf(this.#environment, from.name).getRange({
        ...recordRange,
        transaction: snapshot,
      });
      for (const { value } of range) yield decodeValue(value) as R;
    } finally {
      snapshot.done();
    }
  }

  count<R, I extends string>(from: Table<R, I>, index: I, prefix: readonly KeyPart[]): number {
    this.#begin();
    const text = keyText(prefix);
    const known = this.#cache.list(from.name, index, text, countShape)?.[0];
    if (known !== undefined) return known as number;
    const start = indexKey(index, prefix);
    if (start.length > keyMaxBytes) return 0;
    const range = { start, end: endOf(start), transaction: this.#held() };
    const count = bytesOf(this.#environment, from.name).getKeysCount(range);
    this.#cache.keepList(from.name, index, text, prefix.length, countShape, [count]);
    return count;
  }

  /**
   * A record at the writer's own position, without a snapshot; undefined when it is not in the
   * cache.
   */
  peek(table: string, text: string): unknown {
    return this.#cache.record(table, text);
  }

  /** Moves on to what the writer of this thread has just made durable. */
  advance(entries: readonly KnownEntry[]): void {
    for (const entry of entries) {
      // A stretch between the commit and this call may have passed the entry already.
      if (entry.position !== this.#position + 1) continue;
      for (const change of entry.changes) this.#cache.change(change);
      this.#position = entry.position;
    }
    this.#release();
    this.#inStretch = false;
  }

  /** Ends the stretch, and moves on to what is published. */
  moveOn(): void {
    this.#inStretch = false;
    const published = Atomics.load(this.#published, 0);
    if (!this.#closed && published !== this.#seen) this.#renew(published);
  }

  /** Closes the environment with it; twice is fine. */
  close(): Promise<void> {
    this.#closed = true;
    this.#release();
    this.#cache.clear();
    this.#closing ??= this.#environment.root.close();
    return this.#closing;
  }

  #begin(): void {
    if (this.#inStretch) return;
    if (this.#closed) throw new Error('Cannot read: the store is closed.');
    const published = Atomics.load(this.#published, 0);
    if (this.#snapshot === undefined || published !== this.#seen) this.#renew(published);
    this.#inStretch = true;
    queueMicrotask(this.#endStretch);
  }

  #renew(published: bigint): void {
    this.#release();
    const { root, meta } = this.#environment;
    // Without this lmdb-js may hand out the snapshot of an earlier read of this loop turn.
    root.resetReadTxn();
    this.#snapshot = root.useReadTransaction() as Snapshot;
    this.#holdTimer = setTimeout(() => this.#release(), snapshotHoldMs);
    this.#holdTimer.unref();
    this.#catchUp(decodePosition(this.#read(meta, metaKeys.position)));
    this.#seen = published;
  }

  #release(): void {
    clearTimeout(this.#holdTimer);
    this.#snapshot?.done();
    this.#snapshot = undefined;
  }

  #catchUp(to: number): void {
    if (to === this.#position) return;
    // Before the first read nothing is decoded that an entry could have changed.
    const first = this.#seen < 0n;
    const forget = first || to - this.#position > catchUpMax;
    if (forget) this.#cache.clear();
    if (!first && (!forget || this.witness !== undefined)) this.#walk(to, forget);
    this.#position = to;
  }

  #walk(to: number, forget: boolean): void {
    for (let at = this.#position + 1; at <= to; at++) {
      const bytes = this.#read(this.#environment.journal, encodePosition(at));
      if (bytes === undefined) {
        // The journal was cut beyond this entry: nobody knows what it changed.
        this.#cache.clear();
        this.witness?.lost(at);
        return;
      }
      const row = decodeRow(bytes);
      const records = forget ? [] : this.#follow(row);
      this.witness?.passed(at, row, records);
    }
  }

  /** The records of the changes whose tables are in the cache. */
  #follow(row: Row): unknown[] {
    return row.changes.map(({ table, key, fresh, value }) => {
      if (!this.#cache.holds(table)) return undefined;
      const record = value === null ? undefined : decodeValue(value);
      this.#cache.change({ table, key, fresh, record });
      return record;
    });
  }

  #held(): Snapshot {
    if (this.#snapshot === undefined) throw new Error('Cannot read: no snapshot is held.');
    return this.#snapshot;
  }

  #read(from: Bytes, key: Buffer): Buffer | undefined {
    return from.get(key, { transaction: this.#held() });
  }

  #get(table: string, key: Key, text: string): unknown {
    const known = this.#cache.record(table, text);
    if (known !== undefined) return known;
    const at = recordKey(key);
    if (at.length > keyMaxBytes) return undefined;
    return this.#load(table, at, text);
  }

  #load(table: string, at: Buffer, text: string): unknown {
    const bytes = this.#read(bytesOf(this.#environment, table), at);
    if (bytes === undefined) return undefined;
    const record = decodeValue(bytes);
    this.#cache.keep(table, text, record);
    return record;
  }

  /** The record an index entry points at. */
  #owner(table: string, at: Buffer): unknown {
    const text = keyText(decodeKey(at, 1));
    const record = this.#cache.record(table, text) ?? this.#load(table, at, text);
    if (record === undefined) throw new Error(`An index of ${table} points at no record.`);
    return record;
  }

  #list(
    table: string,
    index: string,
    prefix: readonly KeyPart[],
    reverse: boolean,
    limit: number,
    after: readonly KeyPart[] | undefined,
  ): unknown[] {
    const low = indexKey(index, prefix);
    const behind = after === undefined ? undefined : indexKey(index, after);
    if (Math.max(low.length, behind?.length ?? 0) > keyMaxBytes) return [];
    const range = { limit, reverse, transaction: this.#held(), ...between(low, behind, reverse) };
    const found: unknown[] = [];
    for (const { value } of bytesOf(this.#environment, table).getRange(range)) {
      found.push(this.#owner(table, value));
    }
    return found;
  }
}

const onlyFirst: ListOptions = { limit: 1 };

/** The range of keys that begin with `low`, behind (not at, nor below) `behind`. */
function between(low: Buffer, behind: Buffer | undefined, reverse: boolean) {
  const high = endOf(low);
  if (!reverse) {
    const start = behind === undefined ? low : endOf(behind);
    return { start: Buffer.compare(start, low) < 0 ? low : start, end: high };
  }
  const start = behind === undefined || Buffer.compare(behind, high) > 0 ? high : behind;
  return { start, end: low, exclusiveStart: true, inclusiveEnd: true };
}
