/**
 * Owns the promises of the store to the rest of the program: what may be read anywhere (`Reader`)
 * and what only actors may do (`Journal`).
 */
import type { Change, Key, KeyPart, Table } from './records/table.ts';

export interface ListOptions {
  /** Only records behind this index key (exclusive), in the direction of reading. */
  after?: readonly KeyPart[];
  /** At most this many; default 1,000. */
  limit?: number;
  /** From the last to the first. */
  reverse?: boolean;
}

/**
 * Reads of one consistent state, on any thread. Records are decoded once, shared and frozen: never
 * change one. Each read sees everything that was durable before it began.
 */
export interface Reader {
  get<R>(from: Table<R>, key: Key): Readonly<R> | undefined;
  /** The one record under a unique index key. */
  find<R, I extends string>(
    from: Table<R, I>,
    index: I,
    key: readonly KeyPart[],
  ): Readonly<R> | undefined;
  /** Records whose index key starts with `prefix`, in index order. */
  list<R, I extends string>(
    from: Table<R, I>,
    index: I,
    prefix: readonly KeyPart[],
    options?: ListOptions,
  ): Readonly<R>[];
  /** All records by key order; for small tables and start-up, lazily. */
  scan<R>(from: Table<R>): Iterable<Readonly<R>>;
  count<R, I extends string>(from: Table<R, I>, index: I, prefix: readonly KeyPart[]): number;
  /** The journal position that reads are valid for; grows with every commit. */
  readonly position: number;
  /**
   * The same at a tenth of the time, for callers that read nothing with it, such as a check whether
   * an answer is still true. Reads that follow may already see more.
   */
  readonly newestPosition: number;
}

export interface JournalEntry {
  position: number;
  /** The actor's address, `kind:id`. */
  actor: string;
  /** The activation that wrote it; a later one shuts out an earlier. */
  epoch: number;
  atMs: number;
  changes: Change[];
}

export interface CommitRequest {
  actor: string;
  epoch: number;
  changes: Change[];
}

/** The write side. Only actors hold it. */
export interface Journal {
  /**
   * Appends the entry and applies it, in one transaction with all others of the turn, and resolves
   * with its position once it is on disk. Rejects with CONFLICT or NOT_FOUND when a rule of a table
   * refuses this entry alone, with STORAGE_FULL or INTERNAL when the whole group failed. After a
   * rejected entry, everything else of the same activation is rejected too (OVERLOADED), unless a
   * rule refused the entry and nothing was queued behind it.
   */
  commit(request: CommitRequest): Promise<number>;
  /**
   * Calls back with every durable entry, in order, before its commit resolves and after readers of
   * this thread see it. The returned function ends it.
   */
  subscribe(listener: (entry: JournalEntry) => void): () => void;
}
