/** A clock that stands until it is moved; callbacks run in the order of their times. */
import type { Clock } from '../../src/lib/clock.ts';

export class ManualClock implements Clock {
  #nowMs: number;
  #timers: { atMs: number; callback: () => void }[] = [];

  constructor(startMs = 1_700_000_000_000) {
    this.#nowMs = startMs;
  }

  now(): number {
    return this.#nowMs;
  }

  after(delayMs: number, callback: () => void): () => void {
    const timer = { atMs: this.#nowMs + delayMs, callback };
    this.#timers.push(timer);
    return () => {
      this.#timers = this.#timers.filter((one) => one !== timer);
    };
  }

  /** Moves on by `ms`, letting promises settle between callbacks. */
  async advance(ms: number): Promise<void> {
    const untilMs = this.#nowMs + ms;
    for (;;) {
      const due = this.#timers
        .filter((timer) => timer.atMs <= untilMs)
        .sort((a, b) => a.atMs - b.atMs)[0];
      if (due === undefined) break;
      this.#timers = this.#timers.filter((timer) => timer !== due);
      this.#nowMs = Math.max(this.#nowMs, due.atMs);
      due.callback();
      await settle();
    }
    this.#nowMs = untilMs;
    await settle();
  }

  /** Is set on by `ms` at once, as behind a sleep: what fell due meanwhile runs now, once. */
  async jump(ms: number): Promise<void> {
    this.#nowMs += ms;
    await this.advance(0);
  }
}

/** Lets everything that only waits for promises and immediates happen. */
export async function settle(): Promise<void> {
  for (let turn = 0; turn < 5; turn++) {
    await new Promise<void>((resolve) => {
      setImmediate(resolve);
    });
  }
}
