/**
 * Owns how much is under way for each key, on one thread or on several.
 *
 * 1. Adding, removing and asking wait for nobody.
 * 2. What is under way on one thread counts on all after `everyMs` and the way there; what began and
 *    ended within that time is not told at all. While nothing changes nothing is told.
 * 3. What a thread that is gone had under way counts no more.
 */
import { type Clock, systemClock } from './clock.ts';
import type { Asking, Handling } from './port-calls.ts';

/** What has changed for keys since the last time; plain data. */
export type TallyChanges = readonly (readonly [key: string, by: number])[];

/** Calls in both directions between a thread and the one that relays. */
export type TallyCalls = {
  'tally.changed': { in: TallyChanges; out: unknown };
};

type TallyPort = Asking<TallyCalls> & Handling<TallyCalls>;

/** The tally of one thread. */
export class Tally {
  readonly #counts = new Map<string, number>();

  count(key: string): number {
    return this.#counts.get(key) ?? 0;
  }

  add(key: string): void {
    this.change(key, 1);
  }

  remove(key: string): void {
    this.change(key, -1);
  }

  /** All that is counted. */
  entries(): Iterable<readonly [key: string, count: number]> {
    return this.#counts;
  }

  change(key: string, by: number): void {
    const count = this.count(key) + by;
    if (count === 0) this.#counts.delete(key);
    else this.#counts.set(key, count);
  }
}

/** A tally that other threads have, too. */
class SharedTally extends Tally {
  readonly #tell: (changes: TallyChanges) => void;
  readonly #clock: Clock;
  readonly #everyMs: number;
  readonly #untold = new Tally();
  #telling = false;

  constructor(tell: (changes: TallyChanges) => void, clock: Clock, everyMs: number) {
    super();
    this.#tell = tell;
    this.#clock = clock;
    this.#everyMs = everyMs;
  }

  override add(key: string): void {
    super.add(key);
    this.#untold.add(key);
    this.#tellSoon();
  }

  override remove(key: string): void {
    super.remove(key);
    this.#untold.remove(key);
    this.#tellSoon();
  }

  #tellSoon(): void {
    if (this.#telling) return;
    this.#telling = true;
    this.#clock.after(this.#everyMs, () => {
      this.#telling = false;
      const changes = [...this.#untold.entries()];
      for (const [key, by] of changes) this.#untold.change(key, -by);
      if (changes.length > 0) this.#tell(changes);
    });
  }
}

/** The tally of a thread whose relay is at the other end of `home`. Once for a port. */
export function joinTally(home: TallyPort, clock: Clock = systemClock, everyMs = 20): Tally {
  const tell = (changes: TallyChanges): void => {
    home.tell('tally.changed', changes);
  };
  const tally = new SharedTally(tell, clock, everyMs);
  home.handle('tally.changed', (changes) => {
    for (const [key, by] of changes) tally.change(key, by);
  });
  return tally;
}

/** Passes on what changes on each thread to all others. */
export class TallyRelay {
  readonly #threads = new Set<TallyPort>();

  /** A thread takes part until its port closes. Once for a port. */
  join(thread: TallyPort): void {
    const told = new Tally();
    this.#threads.add(thread);
    thread.handle('tally.changed', (changes) => {
      for (const [key, by] of changes) told.change(key, by);
      this.#pass(changes, thread);
    });
    thread.onClose(() => {
      this.#threads.delete(thread);
      const left = [...told.entries()].map(([key, count]) => [key, -count] as const);
      if (left.length > 0) this.#pass(left, thread);
    });
  }

  #pass(changes: TallyChanges, from: TallyPort): void {
    for (const thread of this.#threads) {
      if (thread !== from) thread.tell('tally.changed', changes);
    }
  }
}
