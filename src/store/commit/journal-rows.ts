/**
 * Owns how an entry lies in the journal. The values inside stay encoded, so that a reader that only
 * wants to know what changed decodes none of them.
 */
import { decodeValue, encodeValue } from '../records/codec.ts';
import type { JournalEntry } from '../reader-and-journal.ts';
import type { Change, Key } from '../records/table.ts';

/** A change as it waits in the queue. */
export interface EncodedChange {
  op: Change['op'];
  table: string;
  key: Key;
  /** The encoded record; null for a delete. */
  value: Uint8Array | null;
}

/** A change as it is stored. */
export interface RowChange extends EncodedChange {
  /** No record stood under the key before. */
  fresh: boolean;
}

export interface Row {
  actor: string;
  epoch: number;
  atMs: number;
  changes: RowChange[];
}

export function encodeRow(row: Row): Uint8Array {
  const changes = row.changes.map((c) => [c.op, c.table, c.key, c.fresh, c.value]);
  return encodeValue([row.actor, row.epoch, row.atMs, changes]);
}

export function decodeRow(bytes: Uint8Array): Row {
  const [actor, epoch, atMs, changes] = decodeValue(bytes) as [
    string,
    number,
    number,
    [Change['op'], string, Key, boolean, Uint8Array | null][],
  ];
  return {
    actor,
    epoch,
    atMs,
    changes: changes.map(([op, table, key, fresh, value]) => ({ op, table, key, fresh, value })),
  };
}

/**
 * The entry as subscribers see it; `records` are those of its changes, decoded. One that is not among them
 * is decoded when it is asked for: subscribers may not look at it.
 */
export function entryOf(row: Row, position: number, records: readonly unknown[]): JournalEntry {
  const changes = row.changes.map(({ op, table, key, value }, i): Change => {
    if ((op !== 'put' && op !== 'insert') || value === null) return { op, table, key } as Change;
    let record = records[i];
    return {
      op,
      table,
      key,
      get value() {
        return (record ??= decodeValue(value));
      },
    };
  });
  return { position, actor: row.actor, epoch: row.epoch, atMs: row.atMs, changes };
}
