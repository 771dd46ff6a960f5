/**
 * Owns reading a store beside the process that has it open, or when none has: for commands. Nothing
 * is written, and nothing is kept true: what is read is as it was when it was opened.
 */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { open } from 'lmdb';
import { storeFolder, tableSet } from '../files/environment.ts';
import { StoreReader } from './reader.ts';
import { StoreRefusal } from '../refusal.ts';
import type { ClosableReader } from '../store.ts';
import { tables } from '../records/tables.ts';

const binary = { keyEncoding: 'binary', encoding: 'binary' } as const;
const readersMax = 1024;
const databasesMax = 256;
// Every version of the store has had these.
const oldest = { auth: tables.auth, instance: tables.instance };

/** A reader of accounts and of the instance. Throws a StoreRefusal where there is no store. */
export function openBeside(dir: string): Pick<ClosableReader, 'get' | 'find' | 'close'> {
  const path = storeFolder(dir);
  if (!existsSync(join(path, 'data.mdb'))) {
    throw new StoreRefusal(`There is no data directory at ${dir}.`);
  }
  const options = { path, ...binary, readOnly: true, maxDbs: databasesMax };
  const root = open<Buffer, Buffer>({ ...options, maxReaders: readersMax });
  const database = (name: string) => root.openDB<Buffer, Buffer>({ name, ...binary });
  const set = tableSet(oldest);
  const reader = new StoreReader({
    environment: {
      root,
      meta: database('meta'),
      journal: database('journal'),
      tables: new Map([...set.keys()].map((name) => [name, database(`table:${name}`)])),
    },
    tables: set,
    shared: new SharedArrayBuffer(8),
    cacheRecords: 100,
  });
  return {
    get: (from, key) => reader.get(from, key),
    find: (from, index, key) => reader.find(from, index, key),
    close: async () => {
      reader.close();
      await root.close();
    },
  };
}
