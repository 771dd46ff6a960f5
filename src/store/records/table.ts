/**
 * Owns what a table is: a name, a key and derived indexes. A definition is pure; which tables
 * exist is in `tables.ts`, how they are kept in `store.ts`.
 *
 * 1. Index entries are derived from the record alone, so that the journal needs only records.
 * 2. A unique index is enforced when the change is applied, and nowhere else.
 */

/** A part of a key. Keys order as in `ordered-binary`: null < false < true < numbers < strings. */
export type KeyPart = string | number | boolean | null;
export type Key = string | readonly KeyPart[];

export interface IndexSpec<R> {
  /**
   * The index keys of a record. Without any it is not in the index; with several it is there
   * several times.
   */
  keys: (record: R) => readonly (readonly KeyPart[])[];
  /**
   * At most one record may have a key. A second one is refused with this sentence and the code
   * CONFLICT.
   */
  unique?: string;
}

export interface Table<R, I extends string = string> {
  readonly name: string;
  readonly keyOf: (record: R) => Key;
  readonly indexes: Readonly<Record<I, IndexSpec<R>>>;
}

/** Defines a table. `R` is plain data: it survives msgpackr unchanged. */
export function table<R>() {
  return <const I extends string = never>(
    name: string,
    keyOf: (record: R) => Key,
    indexes: Readonly<Record<I, IndexSpec<R>>>,
  ): Table<R, I> => ({ name, keyOf, indexes });
}

/**
 * One change of one record; plain data, as it stands in the journal. `insert` is refused with
 * CONFLICT when the key exists, `take` (a delete) with NOT_FOUND when it does not. So of two
 * commits that redeem one code, one wins.
 */
export type Change =
  | { op: 'put' | 'insert'; table: string; key: Key; value: unknown }
  | { op: 'delete' | 'take'; table: string; key: Key };

export function put<R>(into: Table<R>, record: R): Change {
  return { op: 'put', table: into.name, key: into.keyOf(record), value: record };
}

export function insert<R>(into: Table<R>, record: R): Change {
  return { op: 'insert', table: into.name, key: into.keyOf(record), value: record };
}

export function remove<R>(from: Table<R>, key: Key): Change {
  return { op: 'delete', table: from.name, key };
}

export function take<R>(from: Table<R>, key: Key): Change {
  return { op: 'take', table: from.name, key };
}

/** Those of these records that are still there go. */
export function removeAll<R>(from: Table<R>, records: readonly R[]): Change[] {
  return records.map((record) => remove(from, from.keyOf(record)));
}
