/**
 * Owns limits that hold over several threads: each thread counts by itself at once, and tells the
 * others a moment later what was spent on it.
 *
 * 1. Asking a limit costs no more than on one thread, and waits for nobody.
 * 2. What is spent counts on every thread after `everyMs` and the way there. A limit may be overdrawn by
 *    what is spent within that time; it is not given but owed, so that the rate holds in the long run.
 * 3. While nothing is spent nothing is told.
 * 4. What was counted for a key and what forgives it arrive in their order.
 */
import { type Clock, systemClock } from './clock.ts';
import type { Asking, Handling } from './port-calls.ts';
import { RateLimit, type RateLimitOptions } from './rate-limit.ts';

/** What was spent of a limit within a while; plain data. */
export interface Spending {
  limit: string;
  /** Keys of which everything before was forgiven, then what was spent of each. */
  forgiven: readonly string[];
  spent: readonly (readonly [key: string, count: number])[];
}

/** Calls in both directions between a thread and the one that relays. */
export type LimitCalls = {
  'limits.spent': { in: readonly Spending[]; out: unknown };
};

type LimitPort = Asking<LimitCalls> & Handling<LimitCalls>;

/** A limit of which other threads have one of the same name. */
export class SharedLimit extends RateLimit {
  readonly #changed: () => void;
  #forgiven = new Set<string>();
  #spent = new Map<string, number>();

  /** `changed` is called with the first thing to tell since `takeSpending`. */
  constructor(options: RateLimitOptions, changed: () => void) {
    super(options);
    this.#changed = changed;
  }

  override take(key: string): number {
    const waitS = super.take(key);
    if (waitS === 0) this.#spend(key, 1);
    return waitS;
  }

  override charge(key: string, count: number): void {
    super.charge(key, count);
    if (count > 0) this.#spend(key, count);
  }

  override forgive(key: string): void {
    super.forgive(key);
    this.#toTell();
    this.#spent.delete(key);
    this.#forgiven.add(key);
  }

  /** Counts what another thread tells. */
  hear({ forgiven, spent }: Omit<Spending, 'limit'>): void {
    for (const key of forgiven) super.forgive(key);
    for (const [key, count] of spent) super.charge(key, count);
  }

  /** What was spent here since it was last asked; null for nothing. */
  takeSpending(): Omit<Spending, 'limit'> | null {
    if (this.#isQuiet()) return null;
    const spending = { forgiven: [...this.#forgiven], spent: [...this.#spent] };
    this.#forgiven = new Set();
    this.#spent = new Map();
    return spending;
  }

  #spend(key: string, count: number): void {
    this.#toTell();
    this.#spent.set(key, (this.#spent.get(key) ?? 0) + count);
  }

  #toTell(): void {
    if (this.#isQuiet()) this.#changed();
  }

  #isQuiet(): boolean {
    return this.#spent.size === 0 && this.#forgiven.size === 0;
  }
}

export interface SharedLimitsOptions {
  /** Tells all other threads. */
  tell: (spendings: readonly Spending[]) => void;
  clock?: Clock;
  /** Default 20. */
  everyMs?: number;
}

/** The shared limits of one thread. */
export class SharedLimits {
  readonly #options: SharedLimitsOptions;
  readonly #limits = new Map<string, SharedLimit>();
  #telling = false;

  constructor(options: SharedLimitsOptions) {
    this.#options = options;
  }

  /** Makes a limit; all threads make those of the same names, with the same options. */
  readonly newLimit = (name: string, options: RateLimitOptions): RateLimit => {
    if (this.#limits.has(name)) throw new Error(`Cannot make limit ${name}: it exists`);
    const limit = new SharedLimit(options, this.#tellSoon);
    this.#limits.set(name, limit);
    return limit;
  };

  /** Counts what another thread tells. */
  hear(spendings: readonly Spending[]): void {
    for (const { limit, ...spending } of spendings) this.#limits.get(limit)?.hear(spending);
  }

  readonly #tellSoon = (): void => {
    if (this.#telling) return;
    this.#telling = true;
    const { clock = systemClock, everyMs = 20 } = this.#options;
    clock.after(everyMs, () => {
      this.#telling = false;
      this.#options.tell(
        [...this.#limits].flatMap(([limit, one]) => {
          const spending = one.takeSpending();
          return spending === null ? [] : { limit, ...spending };
        }),
      );
    });
  };
}

/** The shared limits of a thread whose relay is at the other end of `home`. Once for a port. */
export function joinLimits(home: LimitPort, clock?: Clock): SharedLimits {
  const limits = new SharedLimits({
    tell: (spendings) => {
      home.tell('limits.spent', spendings);
    },
    ...(clock && { clock }),
  });
  home.handle('limits.spent', (spendings) => {
    limits.hear(spendings);
  });
  return limits;
}

/** Passes on what each thread spends to all others, this one among them. */
export class LimitRelay {
  readonly #threads = new Set<LimitPort>();
  /** Of this thread. */
  readonly limits: SharedLimits;

  constructor(clock?: Clock) {
    this.limits = new SharedLimits({
      tell: (spendings) => {
        this.#pass(spendings, null);
      },
      ...(clock && { clock }),
    });
  }

  /** A thread takes part until its port closes. Once for a port. */
  join(thread: LimitPort): void {
    this.#threads.add(thread);
    thread.handle('limits.spent', (spendings) => {
      this.limits.hear(spendings);
      this.#pass(spendings, thread);
    });
    thread.onClose(() => {
      this.#threads.delete(thread);
    });
  }

  #pass(spendings: readonly Spending[], from: LimitPort | null): void {
    for (const thread of this.#threads) {
      if (thread !== from) thread.tell('limits.spent', spendings);
    }
  }
}
