/**
 * Owns limits on how often something may happen for a key: an address, an account, a token.
 *
 * 1. A token bucket for each key: `burst` at once, refilled evenly over `windowMs`.
 * 2. There are at most `keysMax` buckets. Full ones are forgotten, and beyond the bound the one unused
 *    for longest. So a flood of keys can only make limits forget.
 */
import { systemClock, type Clock } from './clock.ts';

export interface RateLimitOptions {
  /** How many events at once, and how many in each window in the long run. */
  burst: number;
  windowMs: number;
  /** Default 10,000. */
  keysMax?: number;
  clock?: Clock;
}

/** A limit, wherever its buckets are. */
export type Limit = Pick<RateLimit, 'take' | 'charge' | 'waitS' | 'forgive'>;

interface Bucket {
  tokens: number;
  atMs: number;
}

export class RateLimit {
  readonly #burst: number;
  readonly #tokensPerMs: number;
  readonly #keysMax: number;
  readonly #clock: Clock;
  // In the order of last use: the first is the one unused for longest.
  readonly #buckets = new Map<string, Bucket>();

  constructor(options: RateLimitOptions) {
    this.#burst = options.burst;
    this.#tokensPerMs = options.burst / options.windowMs;
    this.#keysMax = options.keysMax ?? 10_000;
    this.#clock = options.clock ?? systemClock;
  }

  get size(): number {
    return this.#buckets.size;
  }

  /** Counts one event. 0 when it is allowed, else the seconds, rounded up, until one is. */
  take(key: string): number {
    const bucket = this.#refilled(key);
    const waitS = this.#wait(bucket);
    this.#spend(key, bucket, waitS === 0 ? 1 : 0);
    return waitS;
  }

  /** Counts `count` more events for one that was allowed, such as when it turned out to be large. */
  charge(key: string, count: number): void {
    if (count > 0) this.#spend(key, this.#refilled(key), count);
  }

  /** As `take`, without counting. */
  waitS(key: string): number {
    return this.#buckets.has(key) ? this.#wait(this.#refilled(key)) : 0;
  }

  /** Forgets what was counted for a key, such as after a sign-in that worked. */
  forgive(key: string): void {
    this.#buckets.delete(key);
  }

  #wait(bucket: Bucket): number {
    // Refills add up fractions; a hair below a whole token is one.
    if (bucket.tokens > 1 - 1e-9) return 0;
    return Math.max(1, Math.ceil((1 - bucket.tokens) / this.#tokensPerMs / 1000 - 1e-6));
  }

  #refilled(key: string): Bucket {
    const nowMs = this.#clock.now();
    const bucket = this.#buckets.get(key) ?? { tokens: this.#burst, atMs: nowMs };
    const passedMs = Math.max(0, nowMs - bucket.atMs);
    bucket.tokens = Math.min(this.#burst, bucket.tokens + passedMs * this.#tokensPerMs);
    bucket.atMs = nowMs;
    return bucket;
  }

  #spend(key: string, bucket: Bucket, tokens: number): void {
    bucket.tokens -= tokens;
    this.#buckets.delete(key);
    this.#buckets.set(key, bucket);
    const nowMs = this.#clock.now();
    for (const [oldest, { tokens: left, atMs }] of this.#buckets) {
      const full = left + (nowMs - atMs) * this.#tokensPerMs >= this.#burst;
      // One step at a time: the oldest goes when it is worth nothing or when there are too many.
      if (!full && this.#buckets.size <= this.#keysMax) return;
      this.#buckets.delete(oldest);
    }
  }
}
