/**
 * Owns which own uid a new app gets: the one behind the highest in use, and where that is the last one,
 * one that an app left.
 *
 * 1. A uid is free as the store says; of two who take one, the store refuses one (unique index).
 * 2. What was left is looked for once, in steps that let others have their turns; after that every
 *    app that goes says so. Finding one costs the same however many apps there are.
 */
import { ServiceError } from '../../lib/errors.ts';
import type { Reader } from '../../store/contract.ts';
import { tables } from '../../store/tables.ts';

export interface FreeUidsOptions {
  reader: Reader;
  /** Both ends included; null where apps have no own uid. */
  range: { first: number; last: number } | null;
}

const lookStep = 500;

export class FreeUids {
  readonly #options: FreeUidsOptions;
  /** What may be free below the highest; null as long as that was of no interest. */
  #left: Set<number> | null = null;
  #looked: Promise<void> | null = null;

  constructor(options: FreeUidsOptions) {
    this.#options = options;
  }

  /** 0 where apps have no own uid. `past`: how many are left to others who ask at the same time. */
  async next(past: number): Promise<number> {
    const { reader, range } = this.#options;
    if (range === null) return 0;
    const highest = reader.list(tables.apps, 'uid', [], { reverse: true, limit: 1 })[0]?.uid ?? 0;
    const behind = Math.max(range.first, highest + 1) + past;
    if (behind <= range.last) return behind;
    this.#left ??= new Set();
    this.#looked ??= this.#look(range, this.#left);
    await this.#looked;
    for (const uid of this.#left) {
      this.#left.delete(uid);
      if (this.#isFree(uid)) return uid;
    }
    throw new ServiceError('OVERLOADED', 'This server has no user left for another app.');
  }

  /** An app is gone, or was not made after all. */
  giveBack(uid: number): void {
    if (uid > 0) this.#left?.add(uid);
  }

  /** Counted, not read: the records of all apps would push what is in use out of memory. */
  #isFree(uid: number): boolean {
    return this.#options.reader.count(tables.apps, 'uid', [uid]) === 0;
  }

  async #look(range: { first: number; last: number }, left: Set<number>): Promise<void> {
    const { first, last } = range;
    for (let uid = first; uid <= last; uid++) {
      if (this.#isFree(uid)) left.add(uid);
      if (uid % lookStep === 0) await new Promise(setImmediate);
    }
  }
}
