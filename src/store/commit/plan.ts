/**
 * Owns what a group of entries does to the tables, worked out before anything is written.
 *
 * 1. Entries are judged in order, each seeing those before it; a refused one leaves no trace.
 * 2. Inside an entry, keys are judged change by change, but unique indexes only by the outcome. So
 *    an entry may pass a unique key from one record to another.
 * 3. Writes are net: a record changed ten times in a group is written once.
 */
import { ServiceError } from '../../lib/errors.ts';
import { decodeValue } from '../records/codec.ts';
import { indexKey, recordKey, sharedIndexKey, type TableSet } from '../files/environment.ts';
import { keyMaxBytes, keyText } from '../records/keys.ts';
import type { Key, KeyPart, Table } from '../records/table.ts';
import type { EncodedChange, RowChange } from './journal-rows.ts';

/** A change that was accepted. */
export interface JudgedChange extends RowChange {
  /** The record afterwards; undefined when deleted. */
  record: unknown;
}

/** The stored state that a plan builds on. */
export interface PlanBase {
  record(table: string, key: Key, text: string, at: Buffer): unknown;
  /** Key of the record that holds a unique index key, as `recordKey` made it. */
  owner(table: string, at: Buffer): Buffer | undefined;
}

export interface Write {
  table: string;
  at: Buffer;
  /** Undefined: removed. */
  value: Uint8Array | undefined;
}

/** A record on its way through one entry. */
interface Touched {
  table: Table<unknown>;
  key: Key;
  at: Buffer;
  before: unknown;
  after: unknown;
  value: Uint8Array | null;
}

export class GroupPlan {
  readonly #tables: TableSet;
  readonly #base: PlanBase;
  readonly #records = new Map<string, unknown>();
  /** Holder of a unique index key after the group so far; null: nobody. */
  readonly #owners = new Map<string, Buffer | null>();
  readonly #writes = new Map<string, Write>();

  constructor(tables: TableSet, base: PlanBase) {
    this.#tables = tables;
    this.#base = base;
  }

  get writes(): Iterable<Write> {
    return this.#writes.values();
  }

  /** Adds an entry, or throws the ServiceError that refuses it. */
  add(changes: readonly EncodedChange[]): JudgedChange[] {
    const touched = new Map<string, Touched>();
    const judged = changes.map((change) => this.#touch(touched, change));
    const owners = new Map<string, Buffer | null>();
    const writes: Write[] = [];
    const moves = [...touched.values()].map(moveOf);
    for (const move of moves) this.#releaseKeys(move, owners, writes);
    for (const move of moves) this.#claimKeys(move, owners, writes);
    for (const [name, record] of touched) this.#records.set(name, record.after);
    for (const [name, owner] of owners) this.#owners.set(name, owner);
    for (const write of writes) this.#writes.set(nameOf(write.table, write.at), write);
    return judged;
  }

  #touch(touched: Map<string, Touched>, change: EncodedChange): JudgedChange {
    const table = this.#tables.get(change.table);
    if (table === undefined) throw new TypeError(`There is no table ${change.table}.`);
    const text = keyText(change.key);
    const name = `${change.table}\n${text}`;
    let record = touched.get(name);
    if (record === undefined) {
      const at = checkedKey(recordKey(change.key));
      const before = this.#records.has(name)
        ? this.#records.get(name)
        : this.#base.record(change.table, change.key, text, at);
      record = { table, key: change.key, at, before, after: before, value: null };
      touched.set(name, record);
    }
    const fresh = record.after === undefined;
    if (change.op === 'insert' && !fresh) {
      throw new ServiceError('CONFLICT', 'This exists already.');
    }
    if (change.op === 'take' && fresh) throw new ServiceError('NOT_FOUND', 'This does not exist.');
    record.after = change.value === null ? undefined : decodeValue(change.value);
    record.value = change.value;
    if (record.after !== undefined && keyText(table.keyOf(record.after)) !== text) {
      throw new TypeError(`A record of ${change.table} is put under another key than its own.`);
    }
    return { ...change, record: record.after, fresh };
  }

  #releaseKeys(move: Move, owners: Map<string, Buffer | null>, writes: Write[]): void {
    const table = move.table.name;
    if (move.before !== undefined && move.after === undefined) {
      writes.push({ table, at: move.at, value: undefined });
    }
    for (const entry of move.released) {
      if (entry.unique !== undefined) owners.set(nameOf(table, entry.at), null);
      writes.push({ table, at: entry.at, value: undefined });
    }
  }

  #claimKeys(move: Move, owners: Map<string, Buffer | null>, writes: Write[]): void {
    const table = move.table.name;
    if (move.value !== null) writes.push({ table, at: move.at, value: move.value });
    for (const entry of move.claimed) {
      checkedKey(entry.at);
      if (entry.unique !== undefined) {
        const name = nameOf(table, entry.at);
        const owner = this.#ownerOf(table, entry.at, name, owners);
        if (owner !== null && !owner.equals(move.at)) {
          throw new ServiceError('CONFLICT', entry.unique);
        }
        owners.set(name, move.at);
      }
      writes.push({ table, at: entry.at, value: move.at });
    }
  }

  #ownerOf(
    table: string,
    at: Buffer,
    name: string,
    owners: ReadonlyMap<string, Buffer | null>,
  ): Buffer | null {
    const here = owners.get(name);
    if (here !== undefined) return here;
    const group = this.#owners.get(name);
    if (group !== undefined) return group;
    return this.#base.owner(table, at) ?? null;
  }
}

/**
 * A touched record with the index entries that it gives up and those that it takes. Entries that it
 * keeps are in neither list.
 */
interface Move extends Touched {
  released: IndexEntry[];
  claimed: IndexEntry[];
}

function moveOf(record: Touched): Move {
  const { table, key, before, after } = record;
  const released: IndexEntry[] = [];
  const claimed: IndexEntry[] = [];
  for (const index in table.indexes) {
    const spec = table.indexes[index];
    if (spec === undefined) continue;
    const had = before === undefined ? none : spec.keys(before);
    const has = after === undefined ? none : spec.keys(after);
    // Most changes move few keys: only those are encoded.
    for (const parts of had) {
      if (!isIn(has, parts)) released.push(entryOf(index, spec.unique, parts, key));
    }
    for (const parts of has) {
      if (!isIn(had, parts)) claimed.push(entryOf(index, spec.unique, parts, key));
    }
  }
  return { ...record, released, claimed };
}

type Parts = readonly KeyPart[];

const none: readonly Parts[] = [];

function isIn(list: readonly Parts[], parts: Parts): boolean {
  return list.some(
    (other) => other.length === parts.length && other.every((part, i) => part === parts[i]),
  );
}

function entryOf(index: string, unique: string | undefined, parts: Parts, key: Key): IndexEntry {
  const at = unique === undefined ? sharedIndexKey(index, parts, key) : indexKey(index, parts);
  return { at, unique };
}

export interface IndexEntry {
  at: Buffer;
  unique: string | undefined;
}

/** The index entries of a record, all of them derived; none for no record. */
export function entriesOf(table: Table<unknown>, key: Key, record: unknown): IndexEntry[] {
  if (record === undefined) return [];
  const entries: IndexEntry[] = [];
  for (const [index, spec] of Object.entries(table.indexes)) {
    for (const parts of spec.keys(record)) entries.push(entryOf(index, spec.unique, parts, key));
  }
  return entries;
}

function nameOf(table: string, at: Buffer): string {
  return `${table}\n${at.toString('latin1')}`;
}

function checkedKey(at: Buffer): Buffer {
  if (at.length <= keyMaxBytes) return at;
  throw new ServiceError('BAD_USER_INPUT', 'A name or key is too long to be stored.');
}
