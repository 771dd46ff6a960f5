/**
 * Owns better-auth's access to our store: reads go to the reader, writes to the `account` actor. It is
 * loaded with the library, when somebody first signs in.
 *
 * 1. The actor decides every write, so guarded updates and single-use reads are atomic.
 * 2. A transaction sees its own writes and is one commit. When somebody else changed what it is about
 *    to change, it fails with CONFLICT.
 * 3. Dates are stored as milliseconds and come back as dates.
 */
import type { BetterAuthOptions } from '@better-auth/core';
import {
  type CleanedWhere,
  type CustomAdapter,
  type DBAdapter,
  createAdapterFactory,
} from '@better-auth/core/db/adapter';
import { AuthView } from '../../actors/account/auth-view.ts';
import { type Condition, type Scalar, compareValues, fieldOf } from '../../actors/account/match.ts';
import {
  type AuthWrite,
  type AuthWritten,
  accountActor,
  directory,
} from '../../actors/account/protocol.ts';
import type { Actors } from '../../actors/runtime/actor.ts';
import type { Reader } from '../../store/reader-and-journal.ts';
import type { AuthRecord } from '../../store/records/records.ts';

type Row = Record<string, unknown>;

/** Where the records of one request are read and written: the store, or an open transaction. */
interface Side {
  select(model: string, where: readonly Condition[]): Readonly<AuthRecord>[];
  write(write: AuthWrite): Promise<AuthWritten>;
}

export interface AuthAdapterOptions {
  reader: Reader;
  actors: Actors;
}

export function authAdapter({
  reader,
  actors,
}: AuthAdapterOptions): (options: BetterAuthOptions) => DBAdapter {
  const send = (writes: AuthWrite[]): Promise<AuthWritten[]> =>
    actors.ask(accountActor.at(directory), { type: 'write', writes });
  const stored: Side = {
    select: (model, where) => new AuthView(reader).select(model, where),
    write: async (write) => (await send([write]))[0] ?? [],
  };
  return (options) =>
    adapterOver(stored, async (work) => {
      const view = new AuthView(reader);
      const writes: AuthWrite[] = [];
      const open: Side = {
        select: (model, where) => view.select(model, where),
        write: (write) => {
          const written = view.apply(write);
          writes.push(write.op === 'create' ? write : { ...write, seen: written.map(idOf) });
          return Promise.resolve(written);
        },
      };
      const result = await work(adapterOver(open, false)(options));
      if (writes.length > 0) await send(writes);
      return result;
    })(options);
}

type Transaction = NonNullable<Parameters<typeof createAdapterFactory>[0]['config']['transaction']>;

function adapterOver(
  side: Side,
  transaction: Transaction,
): (options: BetterAuthOptions) => DBAdapter {
  return createAdapterFactory({
    config: {
      adapterId: 'gangway',
      adapterName: 'Gangway store',
      supportsNumericIds: false,
      supportsJSON: true,
      supportsArrays: true,
      supportsDates: true,
      supportsBooleans: true,
      transaction,
    },
    adapter: ({ getFieldName }) =>
      customAdapter(side, (model, field) => getFieldName({ model, field })),
  });
}

function customAdapter(
  side: Side,
  storedName: (model: string, field: string) => string,
): CustomAdapter {
  const change = async (
    model: string,
    where: CleanedWhere[],
    set: Row,
    extra: { one: boolean; add?: Record<string, number> },
  ): Promise<Row[]> => {
    const { fields, dates } = packed(set);
    const write = { op: 'update', model, where: conditions(where), set: fields, dates } as const;
    const { one, add = {} } = extra;
    return (await side.write({ ...write, one, add })).map(unpacked);
  };
  const removal = async (model: string, where: CleanedWhere[], one: boolean): Promise<Row[]> =>
    (await side.write({ op: 'delete', model, where: conditions(where), one })).map(unpacked);

  // The library states the type of a row at each call. It gets what it stored.
  const first = <T>(rows: Row[]): T | null => (rows[0] as T | undefined) ?? null;
  return {
    create: async ({ model, data }) => {
      const { id, ...rest } = data;
      if (typeof id !== 'string') throw new Error('a record without an id');
      await side.write({ op: 'create', record: { model, id, ...packed(rest) } });
      return data;
    },
    findOne: <T>({ model, where }: { model: string; where: CleanedWhere[] }) => {
      const found = side.select(model, conditions(where)).slice(0, 1);
      return Promise.resolve(first<T>(found.map(unpacked)));
    },
    findMany: <T>(query: Parameters<CustomAdapter['findMany']>[0]) => {
      const { model, where, limit, select, sortBy, offset = 0 } = query;
      const found = side.select(model, conditions(where ?? []));
      if (sortBy) {
        const sign = sortBy.direction === 'asc' ? 1 : -1;
        const by = (record: Readonly<AuthRecord>): unknown => fieldOf(record, sortBy.field);
        found.sort((a, b) => sign * compareValues(by(a), by(b)));
      }
      const rows = found.slice(offset, offset + limit).map(unpacked);
      const names = select?.map((field) => storedName(model, field));
      return Promise.resolve((names ? rows.map((row) => only(row, names)) : rows) as T[]);
    },
    count: ({ model, where }) =>
      Promise.resolve(side.select(model, conditions(where ?? [])).length),
    update: async <T>(data: { model: string; where: CleanedWhere[]; update: T }) =>
      first<T>(await change(data.model, data.where, data.update as Row, { one: true })),
    updateMany: async ({ model, where, update }) =>
      (await change(model, where, update, { one: false })).length,
    delete: async ({ model, where }) => {
      await removal(model, where, true);
    },
    deleteMany: async ({ model, where }) => (await removal(model, where, false)).length,
    consumeOne: async <T>({ model, where }: { model: string; where: CleanedWhere[] }) =>
      first<T>(await removal(model, where, true)),
    incrementOne: async <T>(data: Parameters<NonNullable<CustomAdapter['incrementOne']>>[0]) => {
      const { model, where, increment, set = {} } = data;
      return first<T>(await change(model, where, set, { one: true, add: increment }));
    },
  };
}

function conditions(where: readonly CleanedWhere[]): Condition[] {
  return where.map(({ field, operator = 'eq', value, connector = 'AND', mode }) => ({
    field,
    operator,
    connector,
    insensitive: mode === 'insensitive',
    value: Array.isArray(value) ? value.map(scalar) : scalar(value),
  }));
}

function scalar(value: Scalar | Date): Scalar {
  return value instanceof Date ? value.getTime() : value;
}

function packed(row: Row): Pick<AuthRecord, 'fields' | 'dates'> {
  const fields: Row = {};
  const dates: string[] = [];
  for (const [name, value] of Object.entries(row)) {
    if (value === undefined) continue;
    fields[name] = value instanceof Date ? value.getTime() : value;
    if (value instanceof Date) dates.push(name);
  }
  return { fields, dates };
}

function unpacked(record: Readonly<AuthRecord>): Row {
  // Records of the reader are shared and frozen, and the library may change what it gets.
  const row: Row = { ...structuredClone(record.fields), id: record.id };
  for (const name of record.dates) {
    const value = row[name];
    if (typeof value === 'number') row[name] = new Date(value);
  }
  return row;
}

function only(row: Row, names: readonly string[]): Row {
  return Object.fromEntries(Object.entries(row).filter(([name]) => names.includes(name)));
}

function idOf(record: Readonly<AuthRecord>): string {
  return record.id;
}
