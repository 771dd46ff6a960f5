/**
 * Owns which uid of its own a new app or database gets: the one above the highest in use. When the
 * highest is the last of the range, it gets one that was given back.
 *
 * 1. The store says which uids are free. When two actors take the same one, its unique index refuses
 *    the second.
 * 2. The range is searched for free uids once, in steps that let other work go on. After that each uid
 *    that is given back is remembered, so that finding one costs the same however many there are.
 */
import { ServiceError } from '../../lib/errors.ts';
import type { Reader } from '../../store/reader-and-journal.ts';
import type { Table } from '../../store/records/table.ts';

export interface FreeUidsOptions<R extends { uid: number }> {
  reader: Reader;
  /** Of those who have them: the index holds uids above 0. */
  table: Table<R, 'uid'>;
  /** Both ends included; null where there are no own uids. */
  range: { first: number; last: number } | null;
}

const lookStep = 500;
const last = { reverse: true, limit: 1 } as const;

export class FreeUids<R extends { uid: number }> {
  readonly #options: FreeUidsOptions<R>;
  /** What may be free below the highest; null as long as that was of no interest. */
  #left: Set<number> | null = null;
  #looked: Promise<void> | null = null;

  constructor(options: FreeUidsOptions<R>) {
    this.#options = options;
  }

  /** 0 where there are no own uids. `past`: how many are left to others who ask at the same time. */
  async next(past: number): Promise<number> {
    const { range } = this.#options;
    if (range === null) return 0;
    const highest = this.#highest();
    const behind = Math.max(range.first, highest + 1) + past;
    if (behind <= range.last) return behind;
    this.#left ??= new Set();
    this.#looked ??= this.#look(range, this.#left);
    await this.#looked;
    for (const uid of this.#left) {
      this.#left.delete(uid);
      if (this.#isFree(uid)) return uid;
    }
    throw new ServiceError('OVERLOADED', 'This server has no user left for another one.');
  }

  /** Its owner is gone, or was not made after all. */
  giveBack(uid: number): void {
    if (uid > 0) this.#left?.add(uid);
  }

  #highest(): number {
    const { reader, table } = this.#options;
    return reader.list(table, 'uid', [], last)[0]?.uid ?? 0;
  }

  /** Counted, not read: all their records would push what is in use out of memory. */
  #isFree(uid: number): boolean {
    const { reader, table } = this.#options;
    return reader.count(table, 'uid', [uid]) === 0;
  }

  async #look(range: { first: number; last: number }, left: Set<number>): Promise<void> {
    const { first, last } = range;
    for (let uid = first; uid <= last; uid++) {
      if (this.#isFree(uid)) left.add(uid);
      if (uid % lookStep === 0) await new Promise(setImmediate);
    }
  }
}
