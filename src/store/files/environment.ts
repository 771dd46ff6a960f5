/**
 * Owns the LMDB environment of a data directory: how it is opened and where things lie in it.
 *
 * 1. One LMDB database a table, holding its records and its index entries; one for the journal, one
 *    for what describes the store itself (`meta`).
 * 2. A commit returns only when it is on disk: lmdb-js's overlapping sync, which lets readers see
 *    what a power cut may still take, is off; syncing is never off.
 * 3. Several threads of the process share the environment; each opens its own handles.
 */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { open, type Database, type RootDatabase } from 'lmdb';
import { encodeKey, partsOf } from '../records/keys.ts';
import type { Key, KeyPart, Table } from '../records/table.ts';

export type Bytes = Database<Buffer, Buffer>;

/** All tables by name, whatever their records are. */
export type TableSet = ReadonlyMap<string, Table<unknown>>;

export interface Environment {
  readonly root: RootDatabase<Buffer, Buffer>;
  readonly meta: Bytes;
  readonly journal: Bytes;
  readonly tables: ReadonlyMap<string, Bytes>;
}

export interface EnvironmentOptions {
  /** The data directory. */
  dir: string;
  tables: TableSet;
  /** Nothing is written, and tables that are not there fail. */
  readOnly?: boolean;
  /** Address space mapped for the file. A larger file works, but then each thread maps anew. */
  mapBytes: number;
}

const binary = { keyEncoding: 'binary', encoding: 'binary' } as const;
const readersMax = 1024;
const databasesMax = 256;

export function storeFolder(dir: string): string {
  return join(dir, 'store');
}

/** Opens the environment. lmdb-js does not survive a damaged file: `store-file.ts` looks first. */
export function openEnvironment(options: EnvironmentOptions): Environment {
  const path = storeFolder(options.dir);
  mkdirSync(path, { recursive: true, mode: 0o700 });
  const root = open<Buffer, Buffer>({
    path,
    ...binary,
    overlappingSync: false,
    // Its batches make promises of their own; a full disk rejects them and nobody can handle that.
    eventTurnBatching: false,
    maxDbs: databasesMax,
    maxReaders: readersMax,
    mapSize: options.mapBytes,
    readOnly: options.readOnly ?? false,
  });
  const database = (name: string): Bytes => root.openDB<Buffer, Buffer>({ name, ...binary });
  const openAll = (): Environment => {
    const tables = new Map<string, Bytes>();
    for (const name of options.tables.keys()) tables.set(name, database(`table:${name}`));
    return { root, meta: database('meta'), journal: database('journal'), tables };
  };
  // One transaction for all handles, instead of one fsync each on a fresh directory.
  return options.readOnly === true ? openAll() : root.transactionSync(openAll);
}

/** The bytes of a table. Throws for a table that is not there. */
export function bytesOf({ tables }: Environment, table: string): Bytes {
  const bytes = tables.get(table);
  if (bytes === undefined) throw new Error(`There is no table ${table}.`);
  return bytes;
}

export function tableSet(tables: Readonly<Record<string, Table<never>>>): TableSet {
  const set = new Map<string, Table<unknown>>();
  for (const table of Object.values(tables)) {
    set.set(table.name, table as unknown as Table<unknown>);
  }
  return set;
}

export const metaKeys = {
  /** Position of the newest entry, as 8 big-endian bytes. */
  position: Buffer.from('position'),
  /** Version of the layout and the records: a number as text. */
  schema: Buffer.from('schema'),
  /** How often the directory was opened for writing: a number as text. */
  starts: Buffer.from('starts'),
  indexes: (table: string): Buffer => Buffer.from(`indexes:${table}`),
} as const;

// Records and index entries of a table share its database; the first byte tells them apart.
const recordHead = Buffer.from([0x10]);
const indexHead = Buffer.from([0x20]);
/** Above every part's type byte: the end of a range over a prefix. */
const above = Buffer.from([0xff]);

export function recordKey(key: Key): Buffer {
  return encodeKey(partsOf(key), recordHead);
}

/** Start of all index keys that begin with `parts`; the whole key of a unique index. */
export function indexKey(index: string, parts: readonly KeyPart[]): Buffer {
  return encodeKey([index, ...parts], indexHead);
}

/** The key of an index entry that several records may share: told apart by the record's key. */
export function sharedIndexKey(index: string, parts: readonly KeyPart[], key: Key): Buffer {
  return encodeKey([index, ...parts, ...partsOf(key)], indexHead);
}

/** The end of the range of all keys that begin with `prefix`. */
export function endOf(prefix: Uint8Array): Buffer {
  return Buffer.concat([prefix, above]);
}

export const recordRange = { start: recordHead, end: endOf(recordHead) } as const;
export const indexRange = { start: indexHead, end: endOf(indexHead) } as const;

export function encodePosition(position: number): Buffer {
  const bytes = Buffer.allocUnsafe(8);
  bytes.writeBigUInt64BE(BigInt(position));
  return bytes;
}

export function decodePosition(bytes: Uint8Array | undefined): number {
  if (bytes === undefined) return 0;
  return Number(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).readBigUInt64BE(0));
}

/** Position of the oldest entry kept; 0 for none. */
export function firstPosition(environment: Environment): number {
  for (const key of environment.journal.getKeys({ limit: 1 })) return decodePosition(key);
  return 0;
}
