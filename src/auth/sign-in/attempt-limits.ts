/**
 * Owns how often attempts may fail: 10 times in 15 minutes for an account from one network; then the
 * answer is RATE_LIMITED. Failures from other networks only slow the answers for the account down, so
 * that nobody locks out another person.
 *
 * 1. Attempts under way count as failed, and an attempt that would be one too many waits for them. So
 *    many at once get no more tries than many in turn, and right ones all get through.
 * 2. A success forgets the failures of that account from that network.
 * 3. Memory is bounded: when it is full, accounts without recent attempts are forgotten.
 */
import { type Clock, pause } from '../../lib/clock.ts';
import { ServiceError } from '../../lib/errors.ts';
import { networkOf } from '../../lib/networks.ts';
import { RecentMap } from '../../lib/recent-map.ts';

/** One account from one network. */
interface Pair {
  failedAtMs: number[];
  running: number;
  waiting: (() => void)[];
}

const windowMs = 15 * 60 * 1_000;
const failuresMax = 10;
const delayStepMs = 100;
const delayMaxMs = 3_000;
const waitingMax = 100;
const keysMax = 100_000;
const accountLength = 254;

export class AttemptLimits {
  readonly #clock: Clock;
  readonly #pairs = new RecentMap<Pair>(keysMax);
  readonly #accounts = new RecentMap<number[]>(keysMax);

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /**
   * Runs an attempt and counts it: null or false was a wrong one, and one that throws neither right nor
   * wrong. RATE_LIMITED says how long until the next attempt is allowed.
   */
  async run<T>(account: string, address: string, attempt: () => Promise<T>): Promise<T> {
    const key = account.slice(0, accountLength);
    const pair = this.#pair(`${networkOf(address)} ${key}`);
    await this.#take(pair);
    try {
      await this.#slowDown(key);
      const result = await attempt();
      if (result === null || result === false) this.#failed(pair, key);
      else this.#succeeded(pair, key);
      return result;
    } finally {
      pair.running--;
      for (const wake of pair.waiting.splice(0)) wake();
    }
  }

  /** Forgets the failures of an account from one network. */
  forgive(account: string, address: string): void {
    const key = account.slice(0, accountLength);
    this.#succeeded(this.#pair(`${networkOf(address)} ${key}`), key);
  }

  /**
   * Waits for a place. It is checked and taken in one synchronous step, so that no two attempts take
   * the same.
   */
  async #take(pair: Pair): Promise<void> {
    for (;;) {
      this.#forgetOld(pair.failedAtMs);
      const oldest = pair.failedAtMs[0];
      if (oldest !== undefined && pair.failedAtMs.length >= failuresMax) {
        const restMs = oldest + windowMs - this.#clock.now();
        throw new ServiceError('RATE_LIMITED', 'Too many failed attempts; try again later.', {
          retryAfterS: Math.max(1, Math.ceil(restMs / 1_000)),
        });
      }
      if (pair.failedAtMs.length + pair.running < failuresMax) {
        pair.running++;
        return;
      }
      if (pair.waiting.length >= waitingMax) {
        throw new ServiceError('OVERLOADED', 'Too many attempts at once.');
      }
      await new Promise<void>((resolve) => pair.waiting.push(resolve));
    }
  }

  async #slowDown(account: string): Promise<void> {
    const failures = this.#accounts.get(account);
    if (!failures) return;
    this.#forgetOld(failures);
    const surplus = failures.length - failuresMax;
    if (surplus < 0) return;
    const delayMs = Math.min(delayMaxMs, delayStepMs * 2 ** surplus);
    await pause(this.#clock, delayMs);
  }

  #failed(pair: Pair, account: string): void {
    const now = this.#clock.now();
    pair.failedAtMs.push(now);
    const failures = this.#accounts.get(account) ?? [];
    failures.push(now);
    // More failures make no longer delay, so only the latest are kept.
    if (failures.length > failuresMax * 2) failures.shift();
    this.#accounts.set(account, failures);
  }

  #succeeded(pair: Pair, account: string): void {
    const failures = this.#accounts.get(account) ?? [];
    for (const atMs of pair.failedAtMs.splice(0)) {
      const index = failures.indexOf(atMs);
      if (index >= 0) failures.splice(index, 1);
    }
  }

  #pair(key: string): Pair {
    const known = this.#pairs.get(key);
    if (known) return known;
    const pair: Pair = { failedAtMs: [], running: 0, waiting: [] };
    this.#pairs.set(key, pair);
    return pair;
  }

  #forgetOld(times: number[]): void {
    const startMs = this.#clock.now() - windowMs;
    while (times[0] !== undefined && times[0] <= startMs) times.shift();
  }
}
