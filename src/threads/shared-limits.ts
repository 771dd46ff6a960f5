/**
 * Owns limits on how often something may happen that hold exactly over all threads of the process:
 * their buckets lie in memory that the threads share.
 *
 * 1. As `RateLimit`: `burst` at once, refilled evenly over `windowMs`, on whichever thread. There is no
 *    lock: of two threads that take at the same moment, one tries again.
 * 2. A key's place holds the time at which its bucket is full again (the generic cell rate algorithm: ITU-T
 *    I.371, annex A, in its virtual scheduling form). A full bucket needs no place.
 * 3. Memory is bounded by `places`. When they run out, the bucket that is full soonest is forgotten: a
 *    flood of keys displaces its own keys, and hardly those that are limited.
 * 4. Time is the monotonic clock of the process: all threads read the same.
 */
import { randomInt } from 'node:crypto';
import { KeyHash } from '../lib/key-hash.ts';
import type { Limit, RateLimitOptions } from '../lib/rate-limit.ts';

export interface LimitMemory {
  /** For hashes, so that nobody can choose keys that meet. */
  seed: number;
  /** The tag of the key in each place; 0 for none. */
  tags: SharedArrayBuffer;
  /** Microseconds at which the bucket in each place is full again. */
  fullAtUs: SharedArrayBuffer;
}

/** Memory for the limits of all threads; `places` is a power of two. */
export function newLimitMemory(places = 2 ** 18): LimitMemory {
  return {
    seed: randomInt(2 ** 32),
    tags: new SharedArrayBuffer(places * Int32Array.BYTES_PER_ELEMENT),
    fullAtUs: new SharedArrayBuffer(places * BigInt64Array.BYTES_PER_ELEMENT),
  };
}

/** The limits of one thread. All threads make limits of the same names with the same options. */
export class ThreadLimits {
  readonly #buckets: SharedBuckets;
  readonly #nowUs: () => bigint;

  constructor(memory: LimitMemory, nowUs: () => bigint = monotonicUs) {
    this.#buckets = new SharedBuckets(memory);
    this.#nowUs = nowUs;
  }

  readonly newLimit = (
    name: string,
    options: Pick<RateLimitOptions, 'burst' | 'windowMs'>,
  ): Limit => new SharedLimit(this.#buckets, name, options, this.#nowUs);
}

class SharedLimit implements Limit {
  readonly #buckets: SharedBuckets;
  readonly #name: string;
  readonly #eachUs: bigint;
  readonly #windowUs: bigint;
  readonly #nowUs: () => bigint;

  constructor(
    buckets: SharedBuckets,
    name: string,
    { burst, windowMs }: Pick<RateLimitOptions, 'burst' | 'windowMs'>,
    nowUs: () => bigint,
  ) {
    this.#buckets = buckets;
    this.#name = name;
    this.#eachUs = BigInt(Math.round((windowMs * 1_000) / burst));
    this.#windowUs = this.#eachUs * BigInt(burst);
    this.#nowUs = nowUs;
  }

  take(key: string): number {
    return this.#spend(key, 1n, this.#windowUs);
  }

  charge(key: string, count: number): void {
    if (count > 0) this.#spend(key, BigInt(count), null);
  }

  /** Empties the bucket by so much, unless it would then take longer than `maxUs` to fill: the wait in s. */
  #spend(key: string, count: bigint, maxUs: bigint | null): number {
    const nowUs = this.#nowUs();
    const place = this.#buckets.placeOf(this.#keyOf(key), nowUs);
    for (;;) {
      const fullAtUs = this.#buckets.fullAtUs(place);
      const nextUs = (fullAtUs > nowUs ? fullAtUs : nowUs) + count * this.#eachUs;
      const waitUs = maxUs === null ? 0n : nextUs - nowUs - maxUs;
      if (waitUs > 0n) return secondsOf(waitUs);
      if (this.#buckets.move(place, fullAtUs, nextUs)) return 0;
    }
  }

  waitS(key: string): number {
    const nowUs = this.#nowUs();
    const place = this.#buckets.find(this.#keyOf(key));
    const fullAtUs = place === null ? 0n : this.#buckets.fullAtUs(place);
    if (fullAtUs <= nowUs) return 0;
    const waitUs = fullAtUs + this.#eachUs - nowUs - this.#windowUs;
    return waitUs > 0n ? secondsOf(waitUs) : 0;
  }

  forgive(key: string): void {
    const place = this.#buckets.find(this.#keyOf(key));
    if (place !== null) this.#buckets.fill(place);
  }

  #keyOf(key: string): string {
    return `${this.#name} ${key}`;
  }
}

/** A key may have one of so many places, from the one it points to. */
const reach = 8;

class SharedBuckets {
  readonly #tags: Int32Array;
  readonly #fullAtUs: BigInt64Array;
  readonly #hash: KeyHash;
  readonly #mask: number;

  constructor({ seed, tags, fullAtUs }: LimitMemory) {
    this.#tags = new Int32Array(tags);
    this.#fullAtUs = new BigInt64Array(fullAtUs);
    this.#hash = new KeyHash(seed);
    this.#mask = this.#tags.length - 1;
  }

  fullAtUs(place: number): bigint {
    return Atomics.load(this.#fullAtUs, place);
  }

  /** False when another thread was quicker. */
  move(place: number, fromUs: bigint, toUs: bigint): boolean {
    return Atomics.compareExchange(this.#fullAtUs, place, fromUs, toUs) === fromUs;
  }

  fill(place: number): void {
    Atomics.store(this.#fullAtUs, place, 0n);
  }

  /** Null where the key has no place. */
  find(key: string): number | null {
    this.#hash.hash(key);
    for (let i = 0; i < reach; i += 1) {
      const place = (this.#hash.place + i) & this.#mask;
      if (Atomics.load(this.#tags, place) === this.#hash.tag) return place;
    }
    return null;
  }

  /** The key's place, which it is given when it has none. */
  placeOf(key: string, nowUs: bigint): number {
    for (;;) {
      const known = this.find(key);
      if (known !== null) return known;
      const claimed = this.#claim(nowUs);
      // When two threads claim a place for the same key, the first place counts.
      if (claimed !== null && this.find(key) !== claimed) Atomics.store(this.#tags, claimed, 0);
    }
  }

  /** Gives the key that was hashed last the place whose bucket is full soonest; null: it was taken. */
  #claim(nowUs: bigint): number | null {
    let best = this.#hash.place & this.#mask;
    for (let i = 1; i < reach; i += 1) {
      const place = (this.#hash.place + i) & this.#mask;
      if (this.fullAtUs(place) < this.fullAtUs(best)) best = place;
    }
    const before = Atomics.load(this.#tags, best);
    if (Atomics.compareExchange(this.#tags, best, before, this.#hash.tag) !== before) return null;
    // A full bucket says the same as none.
    if (this.fullAtUs(best) > nowUs) this.fill(best);
    return best;
  }
}

function secondsOf(us: bigint): number {
  return Math.max(1, Math.ceil(Number(us) / 1e6));
}

function monotonicUs(): bigint {
  return process.hrtime.bigint() / 1_000n;
}
