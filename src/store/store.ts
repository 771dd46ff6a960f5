/**
 * Owns a data directory while the process runs: its lock, its environment, the one writer and the
 * reader of this thread.
 *
 * 1. One process writes a directory at a time; another one is refused, as are an older program and a
 *    damaged or lost store (`files/store-file.ts`).
 * 2. `close` finishes what was accepted and then releases everything; twice is fine.
 */
import { chmodSync, closeSync, fsyncSync, mkdirSync, openSync, statfsSync } from 'node:fs';
import { setTimeout } from 'node:timers/promises';
import { systemClock, type Clock } from '../lib/clock.ts';
import type { Logger } from '../lib/log.ts';
import { Activations } from './commit/activations.ts';
import type { CommitRequest, Journal, JournalEntry } from './reader-and-journal.ts';
import {
  metaKeys,
  openEnvironment,
  storeFolder,
  tableSet,
  type Environment,
  type EnvironmentOptions,
  type TableSet,
} from './files/environment.ts';
import { Followers } from './commit/followers.ts';
import { GroupCommit, type CommitLimits, type Transact } from './commit/group-commit.ts';
import { migrate, migrations, type Migration } from './records/migrations.ts';
import { takeProcessLock, type ProcessLock } from './files/process-lock.ts';
import { checkSharedStoreFile, checkStoreFile } from './files/store-file.ts';
import { StoreReader } from './reading/reader.ts';
import { StoreRefusal } from './refusal.ts';
import { tables as allTables } from './records/tables.ts';
import type { Table } from './records/table.ts';

export interface StoreOptions {
  /** The data directory; made when missing. */
  dir: string;
  logger: Logger;
  clock?: Clock;
  journalKeep?: {
    /** Newest entries that stay in the journal; default 10,000. */
    entries?: number;
    /** Entries that stay for threads that have not read them yet; default 50,000. */
    unread?: number;
  };
  limits?: Partial<CommitLimits>;
  /** Records kept decoded on a thread; default 50,000. */
  cacheRecords?: number;
  /** Address space mapped for the store; default 64 GiB. Only what is used costs memory. */
  mapBytes?: number;
  tables?: Readonly<Record<string, Table<never>>>;
  migrations?: readonly Migration[];
  /** Wraps each transaction; what it throws fails the group. */
  transact?: (inner: Transact) => Transact;
  /** The store takes nothing any more, until the process starts again. */
  onBroken?: (error: unknown) => void;
}

/** What a worker thread needs to open a reader; plain data, the buffer shared. */
export interface ReaderOptions {
  dir: string;
  shared: SharedArrayBuffer;
  cacheRecords: number;
  mapBytes: number;
}

/** What a thread needs to follow the journal (`openFollowingStore`); plain data, as above. */
export interface FollowerOptions extends ReaderOptions {
  seat: number;
}

const limitDefaults: CommitLimits = {
  pendingMax: 100_000,
  pendingMaxBytes: 256 * 2 ** 20,
  groupMax: 128,
  groupMaxBytes: 16 * 2 ** 20,
  commitMaxBytes: 8 * 2 ** 20,
};
const keepEntriesDefault = 10_000;
const keepUnreadDefault = 50_000;
const cacheRecordsDefault = 50_000;
const mapDefaultBytes = 64 * 2 ** 30;

/** Opens a data directory for writing. Rejects with a StoreRefusal when it must not be opened. */
export async function openStore(options: StoreOptions): Promise<Store> {
  const { dir } = options;
  prepare(dir);
  const lock = takeProcessLock(storeFolder(dir));
  try {
    const tables = tableSet(options.tables ?? allTables);
    const mapBytes = options.mapBytes ?? mapDefaultBytes;
    const found = checkStoreFile(dir);
    const environment = environmentOf({ dir, tables, mapBytes });
    try {
      // From now on there may be a key and apps, and a store that is missing was lost.
      if (found === 'new') for (const folder of [storeFolder(dir), dir]) syncFolder(folder);
      migrate({ environment, tables, dir, migrations: options.migrations ?? migrations });
      return new Store(options, { lock, environment, tables, mapBytes });
    } catch (error) {
      await environment.root.close();
      throw error;
    }
  } catch (error) {
    lock.release();
    throw error;
  }
}

/** Makes the folders with the right modes. Throws a StoreRefusal that says why it cannot. */
function prepare(dir: string): void {
  try {
    mkdirSync(storeFolder(dir), { recursive: true });
    // Apps under their own uid pass through to their folders; the store stays closed to them.
    chmodSync(dir, 0o711);
    chmodSync(storeFolder(dir), 0o700);
  } catch (cause) {
    throw new StoreRefusal(`Cannot use the data directory ${dir}: ${reason(cause)}.`, { cause });
  }
}

function syncFolder(folder: string): void {
  const opened = openSync(folder, 'r');
  try {
    fsyncSync(opened);
  } finally {
    closeSync(opened);
  }
}

function environmentOf(options: EnvironmentOptions): Environment {
  try {
    return openEnvironment(options);
  } catch (cause) {
    const folder = storeFolder(options.dir);
    throw new StoreRefusal(`Cannot open the store in ${folder}: ${reason(cause)}.`, { cause });
  }
}

function reason(cause: unknown): string {
  return cause instanceof Error ? cause.message : String(cause);
}

/** Opens a further reader in another thread of the process that has the store open. */
export function openReader(
  options: ReaderOptions,
  tables: Readonly<Record<string, Table<never>>> = allTables,
): StoreReader {
  const set = tableSet(tables);
  const environment = openEnvironment({ ...options, tables: set });
  return new StoreReader({ ...options, environment, tables: set });
}

// Every version of the store has had these.
const oldestTables = { auth: allTables.auth, instance: allTables.instance };

/**
 * Opens accounts and the instance's record for a command, whether another process has the store open
 * or none. What is read is as it was at the opening. Throws a StoreRefusal where there is no store.
 */
export function openReadOnly(dir: string): Pick<StoreReader, 'get' | 'find' | 'close'> {
  if (checkSharedStoreFile(dir) === 'new') {
    throw new StoreRefusal(`There is no data directory at ${dir}.`);
  }
  const tables = tableSet(oldestTables);
  const mapBytes = mapDefaultBytes;
  return new StoreReader({
    environment: openEnvironment({ dir, tables, mapBytes, readOnly: true }),
    tables,
    shared: new SharedArrayBuffer(8),
    cacheRecords: 100,
  });
}

interface Opened {
  lock: ProcessLock;
  environment: Environment;
  tables: TableSet;
  mapBytes: number;
}

export class Store extends StoreReader implements Journal {
  /**
   * Memory whose first 64-bit integer is the newest durable position. It is published before its
   * commit resolves.
   */
  readonly shared: SharedArrayBuffer;
  readonly #options: StoreOptions;
  readonly #opened: Opened;
  readonly #activations: Activations;
  readonly #commits: GroupCommit;
  readonly #followers: Followers;
  #finishing: Promise<void> | undefined;

  constructor(options: StoreOptions, opened: Opened) {
    const { environment, tables } = opened;
    const followers = new Followers(options.journalKeep?.unread ?? keepUnreadDefault);
    const { shared } = followers;
    const cacheRecords = options.cacheRecords ?? cacheRecordsDefault;
    super({ environment, tables, shared, cacheRecords });
    this.shared = shared;
    this.#followers = followers;
    this.#options = options;
    this.#opened = opened;
    this.#activations = new Activations(countStart(environment));
    const transact = transactionsOf(environment);
    this.#commits = new GroupCommit({
      environment,
      tables,
      reader: this,
      shared,
      followers,
      activations: this.#activations,
      clock: options.clock ?? systemClock,
      logger: options.logger,
      transact: options.transact?.(transact) ?? transact,
      limits: { ...limitDefaults, ...options.limits },
      freeBytes: () => freeBytes(options.dir),
      keepEntries: options.journalKeep?.entries ?? keepEntriesDefault,
      onBroken: options.onBroken ?? (() => undefined),
    });
  }

  commit(request: CommitRequest): Promise<number> {
    return this.#commits.commit(request);
  }

  subscribe(listener: (entry: JournalEntry) => void): () => void {
    return this.#commits.subscribe(listener);
  }

  /** The epoch of a new activation of an actor; commits with an earlier one are rejected. */
  nextEpoch(actor: string): number {
    return this.#activations.next(actor);
  }

  readerOptions(): ReaderOptions {
    return {
      dir: this.#options.dir,
      shared: this.shared,
      cacheRecords: this.#options.cacheRecords ?? cacheRecordsDefault,
      mapBytes: this.#opened.mapBytes,
    };
  }

  /** From now on entries stay in the journal until this thread has read them. */
  admitFollower(): FollowerOptions {
    return { ...this.readerOptions(), seat: this.#followers.admit(this.#commits.position) };
  }

  /** The thread has ended, however it did. */
  dismissFollower({ seat }: FollowerOptions): void {
    this.#followers.dismiss(seat);
  }

  override close(): Promise<void> {
    return (this.#finishing ??= this.#finish());
  }

  async #finish(): Promise<void> {
    await this.#commits.close();
    await super.close();
    this.#opened.lock.release();
  }
}

/** Counts this start, so that epochs of an earlier one are below those of this one. */
function countStart({ meta }: Environment): number {
  const starts = Number(meta.get(metaKeys.starts)?.toString() ?? '0') + 1;
  meta.putSync(metaKeys.starts, Buffer.from(String(starts)));
  return starts;
}

/**
 * A child transaction, because it is rolled back when something throws in it: a plain one would be
 * committed.
 */
function transactionsOf({ root }: Environment): Transact {
  return async (writes) => {
    try {
      await root.childTransaction(writes);
    } catch (error) {
      throw await reasonOf(error);
    }
  };
}

const reasonWaitMs = 1_000;

/** lmdb-js says that a commit failed first, and why it failed by a promise of its own. */
async function reasonOf(error: unknown): Promise<unknown> {
  const { commitError } = error as { commitError?: Promise<never> };
  if (commitError === undefined) return error;
  const late = setTimeout(reasonWaitMs, error, { ref: false });
  return Promise.race([commitError, late]).catch((reason: unknown) => reason);
}

/**
 * Space left in bytes. Where it cannot be read, the failure of the commit says more than this one.
 */
function freeBytes(dir: string): number {
  try {
    const { bavail, bsize } = statfsSync(dir);
    return bavail * bsize;
  } catch {
    return Infinity;
  }
}
