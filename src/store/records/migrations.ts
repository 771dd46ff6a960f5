/**
 * Owns the version of what is stored, and the steps from one version to the next.
 *
 * 1. A step and its new version are written in one transaction: a crash leaves either the old
 *    version or the new one.
 * 2. A directory of a newer version is refused before anything in it changes.
 * 3. Indexes are derived from the records: a table whose set of indexes changed is indexed anew,
 *    without a step.
 */
import { decodeValue, encodeRecord } from './codec.ts';
import {
  bytesOf,
  type Environment,
  indexRange,
  metaKeys,
  recordKey,
  recordRange,
  type TableSet,
} from '../files/environment.ts';
import { entriesOf } from '../commit/plan.ts';
import { StoreRefusal } from '../refusal.ts';
import type { Key, Table } from './table.ts';

/**
 * What a step may do: read and write records as they are stored. The indexes are made anew after
 * it.
 */
export interface MigrationContext {
  records(table: string): Iterable<unknown>;
  put(table: string, key: Key, record: unknown): void;
  remove(table: string, key: Key): void;
}

export interface Migration {
  /** The version after this step; steps ascend by one. */
  to: number;
  /** Tables whose records it changes. */
  tables: readonly string[];
  run(context: MigrationContext): void;
}

/** Steps from version 1, the first, to the one of today. */
export const migrations: readonly Migration[] = [
  // Records may be stored by their shape, which an older program cannot read. Old records stay
  // readable.
  { to: 2, tables: [], run: () => undefined },
];

export interface MigrateOptions {
  environment: Environment;
  tables: TableSet;
  migrations: readonly Migration[];
  /** The data directory, for the text of a refusal. */
  dir: string;
}

const firstVersion = 1;

/** Brings the store to the version of today. Throws a StoreRefusal for a newer one. */
export function migrate(options: MigrateOptions): void {
  const { environment, tables, dir } = options;
  const { root, meta } = environment;
  const newest = options.migrations.at(-1)?.to ?? firstVersion;
  const stored = meta.get(metaKeys.schema);
  let version = stored === undefined ? newest : Number(stored.toString());
  if (version > newest) {
    throw new StoreRefusal(
      `Cannot open the data directory ${dir}: it was written by a newer Gangway ` +
        `(version ${String(version)} of the store, this one knows ${String(newest)}).`,
    );
  }
  if (stored === undefined) setVersion(environment, newest);
  for (const step of options.migrations) {
    if (step.to <= version) continue;
    if (step.to !== version + 1) throw new Error(`No step leads from version ${String(version)}.`);
    version = step.to;
    root.transactionSync(() => {
      step.run(contextOf(environment));
      for (const name of step.tables) reindex(environment, tables, name);
      setVersion(environment, step.to);
    });
  }
  indexChanged(environment, tables);
}

function setVersion({ meta }: Environment, version: number): void {
  meta.putSync(metaKeys.schema, Buffer.from(String(version)));
}

function contextOf(environment: Environment): MigrationContext {
  return {
    *records(table) {
      // Collected first: a step may write to what it reads.
      const found = [...bytesOf(environment, table).getRange(recordRange)];
      for (const { value } of found) yield decodeValue(value);
    },
    put(table, key, record) {
      bytesOf(environment, table).putSync(recordKey(key), Buffer.from(encodeRecord(table, record)));
    },
    remove(table, key) {
      bytesOf(environment, table).removeSync(recordKey(key));
    },
  };
}

function indexChanged(environment: Environment, tables: TableSet): void {
  const { root, meta } = environment;
  const changed = [...tables.values()].flatMap((table) => {
    const key = metaKeys.indexes(table.name);
    const names = Buffer.from(indexNames(table));
    return meta.get(key)?.equals(names) ? [] : [{ table, key, names }];
  });
  if (changed.length === 0) return;
  root.transactionSync(() => {
    for (const { table, key, names } of changed) {
      reindex(environment, tables, table.name);
      meta.putSync(key, names);
    }
  });
}

function indexNames(table: Table<unknown>): string {
  const names = Object.entries(table.indexes).map(([name, spec]) =>
    spec.unique === undefined ? name : `${name}!`,
  );
  return names.sort().join(' ');
}

function reindex(environment: Environment, tables: TableSet, name: string): void {
  const bytes = bytesOf(environment, name);
  const table = tables.get(name);
  if (table === undefined) return;
  const stale = [...bytes.getKeys(indexRange)];
  for (const key of stale) bytes.removeSync(key);
  const records = [...bytes.getRange(recordRange)];
  for (const { key: at, value } of records) {
    const record = decodeValue(value);
    for (const entry of entriesOf(table, table.keyOf(record), record)) {
      const owner = entry.unique === undefined ? undefined : bytes.get(entry.at);
      if (owner !== undefined && !owner.equals(at)) {
        throw new StoreRefusal(`Two records of ${name} share a key that must be unique.`);
      }
      bytes.putSync(entry.at, at);
    }
  }
}
