/**
 * Owns how often one may fail: 10 times in 15 minutes for an account from one network, then the
 * answer is RATE_LIMITED. Failures on an account from anywhere only slow its answers down, so that
 * nobody locks out another.
 *
 * 1. Attempts under way are counted as if they had failed, and what would be one too many waits
 *    for them: many at once are no more than many in turn, and right ones all get through.
 * 2. A success forgets the failures of that account from that network.
 * 3. The memory is bounded; when it is full, what was not asked for lately is forgotten.
 */
import { type Clock, pause } from '../../lib/clock.ts';
import { ServiceError } from '../../lib/errors.ts';
import { networkOf } from '../../lib/networks.ts';
import { RecentMap } from '../callers/recency-map.ts';

export type Outcome = 'right' | 'wrong';

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
   * Runs an attempt and counts it; one that throws was neither right nor wrong. RATE_LIMITED comes
   * with the time until the next attempt is heard.
   */
  async run<T>(
    account: string,
    address: string,
    attempt: () => Promise<T>,
    outcomeOf: (result: T) => Outcome,
  ): Promise<T> {
    const key = account.slice(0, accountLength);
    const pair = this.#pair(`${networkOf(address)} ${key}`);
    await this.#take(pair);
    try {
      await this.#slowDown(key);
      const result = await attempt();
      if (outcomeOf(result) === 'right') this.#succeeded(pair, key);
      else this.#failed(pair, key);
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

  /** Waits for a place and takes it in the same breath, so that no two take one. */
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
    // Beyond what makes the longest delay, only the latest matter.
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
