/**
 * Owns counts by key of what is under way, on one thread or over all threads of the process.
 *
 * Over threads, a key has 64 bits of shared memory: the upper half tells it apart, the lower half is
 * its count. A place with a count of zero is free. Where two threads give a key two places at the same
 * moment, both count: the count of a key is the sum of its places.
 */
import { randomInt } from 'node:crypto';
import { KeyHash } from './key-hash.ts';

export interface Tally {
  count(key: string): number;
  add(key: string): void;
  /** Takes back one that was added. */
  remove(key: string): void;
}

/** The tally of one thread. `remove` may take back several. */
export class OwnTally implements Tally {
  readonly #counts = new Map<string, number>();

  count(key: string): number {
    return this.#counts.get(key) ?? 0;
  }

  add(key: string): void {
    this.#counts.set(key, this.count(key) + 1);
  }

  remove(key: string, count = 1): void {
    const left = this.count(key) - count;
    if (left > 0) this.#counts.set(key, left);
    else this.#counts.delete(key);
  }
}

export interface TallyMemory {
  seed: number;
  places: SharedArrayBuffer;
}

/** Memory for the tally of all threads; `places` is a power of two, for as many keys at a time. */
export function newTallyMemory(places = 2 ** 14): TallyMemory {
  const bytes = places * BigUint64Array.BYTES_PER_ELEMENT;
  return { seed: randomInt(2 ** 32), places: new SharedArrayBuffer(bytes) };
}

/** How many places a key may have. When none of them is free, it is not counted. */
const reach = 64;

/** The tally of all threads, on one of them. */
export class ThreadTally implements Tally {
  readonly #cells: BigUint64Array;
  readonly #hash: KeyHash;

  constructor({ seed, places }: TallyMemory) {
    this.#cells = new BigUint64Array(places);
    this.#hash = new KeyHash(seed);
  }

  count(key: string): number {
    this.#hash.hash(key);
    let sum = 0;
    for (let i = 0; i < reach; i += 1) {
      const cell = this.#load(i);
      if (this.#isOurs(cell)) sum += countOf(cell);
    }
    return sum;
  }

  add(key: string): void {
    this.#hash.hash(key);
    for (;;) {
      const at = this.#placeFor();
      if (at === null) return;
      const cell = this.#load(at);
      const free = countOf(cell) === 0;
      if (!free && !this.#isOurs(cell)) continue;
      const next = free ? this.#firstOfOurs() : cell + 1n;
      if (this.#change(at, cell, next)) return;
    }
  }

  remove(key: string): void {
    this.#hash.hash(key);
    for (let i = 0; i < reach;) {
      const cell = this.#load(i);
      if (!this.#isOurs(cell) || countOf(cell) === 0) i += 1;
      else if (this.#change(i, cell, cell - 1n)) return;
    }
  }

  /** The place of the key, else the first free one. */
  #placeFor(): number | null {
    let free: number | null = null;
    for (let i = 0; i < reach; i += 1) {
      const cell = this.#load(i);
      if (countOf(cell) === 0) free ??= i;
      else if (this.#isOurs(cell)) return i;
    }
    return free;
  }

  #index(i: number): number {
    return (this.#hash.place + i) & (this.#cells.length - 1);
  }

  #load(i: number): bigint {
    return Atomics.load(this.#cells, this.#index(i));
  }

  /** False when another thread was quicker. */
  #change(i: number, from: bigint, to: bigint): boolean {
    return Atomics.compareExchange(this.#cells, this.#index(i), from, to) === from;
  }

  #isOurs(cell: bigint): boolean {
    return cell >> 32n === BigInt(this.#hash.tag >>> 0);
  }

  #firstOfOurs(): bigint {
    return (BigInt(this.#hash.tag >>> 0) << 32n) | 1n;
  }
}

function countOf(cell: bigint): number {
  return Number(cell & 0xffff_ffffn);
}
