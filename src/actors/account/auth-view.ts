/**
 * Owns how better-auth's records are found: by key or index where a condition allows it, else by reading
 * every record of the model. Writes may be laid over the stored records, so that a group of writes sees
 * itself before its commit.
 */
import { ServiceError } from '../../lib/errors.ts';
import type { Reader } from '../../store/reader-and-journal.ts';
import type { AuthRecord } from '../../store/records/records.ts';
import { type Change, insert, put, remove } from '../../store/records/table.ts';
import { tables } from '../../store/records/tables.ts';
import { type Condition, matches } from './match.ts';
import type { AuthWrite, AuthWritten } from './protocol.ts';

// Longer values are not in the index of fields; see `tables.auth`.
const indexedMax = 256;

interface Laid {
  model: string;
  id: string;
  record: AuthRecord | null;
  isNew: boolean;
}

export class AuthView {
  readonly #reader: Reader;
  readonly #laid = new Map<string, Laid>();

  constructor(reader: Reader) {
    this.#reader = reader;
  }

  /** All records of the model that match, by id. */
  select(model: string, where: readonly Condition[]): Readonly<AuthRecord>[] {
    const found: Readonly<AuthRecord>[] = [];
    for (const record of this.#candidates(model, where)) {
      if (!this.#laid.has(layKey(model, record.id)) && matches(record, where)) found.push(record);
    }
    for (const { model: laidModel, record } of this.#laid.values()) {
      if (laidModel === model && record !== null && matches(record, where)) found.push(record);
    }
    return found;
  }

  /**
   * Lays one write over the stored records. Returns the records after the write; for a delete, before it.
   * Throws CONFLICT when its transaction saw another state. The commit refuses a `create` of a stored id.
   */
  apply(write: AuthWrite): AuthWritten {
    if (write.op === 'create') {
      this.#lay(write.record, write.record, true);
      return [write.record];
    }
    const found = this.select(write.model, write.where);
    const meant = write.one ? found.slice(0, 1) : found;
    if (write.seen && !sameIds(write.seen, meant)) {
      throw new ServiceError('CONFLICT', 'Somebody else was faster.');
    }
    if (write.op === 'delete') {
      for (const record of meant) this.#lay(record, null, false);
      return meant;
    }
    return meant.map((record) => {
      const changed = changedRecord(record, write);
      this.#lay(changed, changed, false);
      return changed;
    });
  }

  /** The writes that were laid over, as changes. */
  changes(): Change[] {
    return [...this.#laid.values()].flatMap(({ model, id, record, isNew }) => {
      if (record === null) return isNew ? [] : [remove(tables.auth, [model, id])];
      return [isNew ? insert(tables.auth, record) : put(tables.auth, record)];
    });
  }

  #lay({ model, id }: Readonly<AuthRecord>, record: AuthRecord | null, isNew: boolean): void {
    const key = layKey(model, id);
    this.#laid.set(key, { model, id, record, isNew: this.#laid.get(key)?.isNew ?? isNew });
  }

  #candidates(model: string, where: readonly Condition[]): Iterable<Readonly<AuthRecord>> {
    const exact = where.filter(isExact);
    const byId = exact.find((condition) => condition.field === 'id');
    if (byId) {
      const record = this.#reader.get(tables.auth, [model, byId.value]);
      return record ? [record] : [];
    }
    const byField = exact.find((condition) => condition.value.length <= indexedMax);
    const index = byField ? 'field' : 'model';
    const prefix = byField ? [model, byField.field, byField.value] : [model];
    return this.#reader.list(tables.auth, index, prefix, { limit: Infinity });
  }
}

function changedRecord(
  record: Readonly<AuthRecord>,
  write: AuthWrite & { op: 'update' },
): AuthRecord {
  const fields = { ...record.fields, ...write.set };
  for (const [name, by] of Object.entries(write.add)) {
    const before = record.fields[name];
    fields[name] = (typeof before === 'number' ? before : 0) + by;
  }
  const dates = [...record.dates.filter((name) => !(name in write.set)), ...write.dates];
  return { ...record, fields, dates };
}

function sameIds(seen: readonly string[], found: readonly Readonly<AuthRecord>[]): boolean {
  return seen.length === found.length && found.every((record) => seen.includes(record.id));
}

function isExact(condition: Condition): condition is Condition & { value: string } {
  const { connector, operator, insensitive, value } = condition;
  return connector === 'AND' && operator === 'eq' && !insensitive && typeof value === 'string';
}

function layKey(model: string, id: string): string {
  return JSON.stringify([model, id]);
}
