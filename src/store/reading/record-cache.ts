/**
 * Owns what one thread keeps decoded: records, and lists of them by index.
 *
 * 1. All of it is true for one journal position. `change` takes in one changed record, `clear`
 *    forgets everything.
 * 2. Memory is bounded by two generations: when the younger is full, the older is dropped. A hit in
 *    the older moves into the younger.
 * 3. A change drops the lists under the index keys of the old and the new record.
 *    Where the old record is no longer known, it drops all of the table.
 */
import { keyText, partsOf } from '../records/keys.ts';
import type { Key, Table } from '../records/table.ts';

export interface CacheLimits {
  /** Records of both generations together. A list counts once for each record in it. */
  records: number;
}

type Found = readonly unknown[];

interface TableCache {
  readonly table: Table<unknown>;
  young: Map<string, unknown>;
  old: Map<string, unknown>;
  /** By index, then the text of the prefix, then the limit (negative: from the end). */
  readonly lists: Map<string, Lists>;
}

interface Lists {
  readonly byPrefix: Map<string, Map<number, Found>>;
  /** Lengths of the prefixes that are cached. */
  readonly lengths: Set<number>;
}

/** What the cache needs to know of a change. */
export interface CacheChange {
  table: string;
  key: Key;
  /** The record afterwards; undefined when deleted. */
  record: unknown;
  /** No record stood there before. */
  fresh: boolean;
}

export class RecordCache {
  readonly #tables = new Map<string, TableCache>();
  readonly #half: number;
  #weight = 0;

  constructor(tables: Iterable<Table<unknown>>, limits: CacheLimits) {
    this.#half = Math.max(1, Math.floor(limits.records / 2));
    for (const table of tables) {
      this.#tables.set(table.name, {
        table,
        young: new Map(),
        old: new Map(),
        lists: new Map(),
      });
    }
  }

  record(table: string, text: string): unknown {
    const cache = this.#tables.get(table);
    if (cache === undefined) return undefined;
    const young = cache.young.get(text);
    if (young !== undefined) return young;
    const old = cache.old.get(text);
    if (old !== undefined) this.#keep(cache, text, old);
    return old;
  }

  keep(table: string, text: string, record: unknown): void {
    const cache = this.#tables.get(table);
    if (cache !== undefined) this.#keep(cache, text, record);
  }

  #keep(cache: TableCache, text: string, record: unknown): void {
    cache.young.set(text, record);
    this.#grow(1);
  }

  list(table: string, index: string, prefix: string, options: number): Found | undefined {
    return this.#tables.get(table)?.lists.get(index)?.byPrefix.get(prefix)?.get(options);
  }

  /** `length`: how many parts the prefix has. */
  keepList(
    table: string,
    index: string,
    prefix: string,
    length: number,
    options: number,
    found: Found,
  ): void {
    const cache = this.#tables.get(table);
    if (cache === undefined || found.length > this.#half / 8) return;
    let lists = cache.lists.get(index);
    if (lists === undefined) {
      lists = { byPrefix: new Map(), lengths: new Set() };
      cache.lists.set(index, lists);
    }
    lists.lengths.add(length);
    const byLimit = lists.byPrefix.get(prefix);
    if (byLimit === undefined) lists.byPrefix.set(prefix, new Map([[options, found]]));
    else byLimit.set(options, found);
    this.#grow(found.length + 1);
  }

  change(change: CacheChange): void {
    const cache = this.#tables.get(change.table);
    if (cache === undefined) return;
    const text = keyText(change.key);
    const before = change.fresh ? undefined : (cache.young.get(text) ?? cache.old.get(text));
    cache.old.delete(text);
    cache.young.delete(text);
    if (before === undefined && !change.fresh) {
      cache.lists.clear();
    } else {
      if (before !== undefined) dropIndexed(cache, change.key, before);
      if (change.record !== undefined) dropIndexed(cache, change.key, change.record);
    }
    if (change.record !== undefined) this.#keep(cache, text, change.record);
  }

  /** Whether anything of the table is kept. If not, decoding a changed record is not worth it. */
  holds(table: string): boolean {
    const cache = this.#tables.get(table);
    if (cache === undefined) return false;
    return cache.young.size + cache.old.size + cache.lists.size > 0;
  }

  clear(): void {
    for (const cache of this.#tables.values()) {
      cache.young.clear();
      cache.old.clear();
      cache.lists.clear();
    }
    this.#weight = 0;
  }

  #grow(by: number): void {
    this.#weight += by;
    if (this.#weight <= this.#half) return;
    this.#weight = 0;
    for (const cache of this.#tables.values()) {
      cache.old = cache.young;
      cache.young = new Map();
      // Lists are cheap to find again from the records that stay.
      cache.lists.clear();
    }
  }
}

function dropIndexed(cache: TableCache, key: Key, record: unknown): void {
  for (const [index, spec] of Object.entries(cache.table.indexes)) {
    const lists = cache.lists.get(index);
    if (lists === undefined) continue;
    for (const parts of spec.keys(record)) {
      // A prefix may reach into the record's own key, which ends the entries of a shared index.
      const entry = spec.unique === undefined ? [...parts, ...partsOf(key)] : parts;
      for (const length of lists.lengths) {
        lists.byPrefix.delete(keyText(entry.slice(0, length)));
      }
    }
  }
}
