/**
 * Owns the times between the flushes of one fan-out. They depend on how long its rounds take.
 *
 * 1. A line reaches its last viewer `flushMs` after the flush before it began: the next flush begins
 *    earlier by the length of a round.
 * 2. That is limited so that rounds do not keep the loop busy for more than a third of its time.
 * 3. A round that takes longer than `flushMs` is followed by a pause. Both together take `flushMaxMs`
 *    at most.
 */
const loopShare = 1 / 3;
const stretch = 1.25;
/** The quickest of so many rounds counts: the others had to wait for a core. */
const remembered = 8;

export interface FlushPaceOptions {
  flushMs: number;
  flushMaxMs: number;
}

export class FlushPace {
  readonly #options: FlushPaceOptions;
  #lastMs: number[] = [];

  constructor(options: FlushPaceOptions) {
    this.#options = options;
  }

  /** Notes how long a round took from its first write to its last. */
  note(tookMs: number): void {
    this.#lastMs.push(tookMs);
    if (this.#lastMs.length > remembered) this.#lastMs.shift();
  }

  /**
   * How much earlier than `flushMs` after the last flush the next one is to begin, in whole
   * milliseconds.
   */
  get leadMs(): number {
    const leastMs = this.#lastMs.length === 0 ? 0 : Math.min(...this.#lastMs);
    const roomMs = this.#options.flushMs - leastMs / loopShare;
    return Math.floor(Math.max(0, Math.min(leastMs, roomMs)));
  }

  /** The time from the end of a round to the next one when lines are waiting already. */
  pauseMs(tookMs: number): number {
    const { flushMs, flushMaxMs } = this.#options;
    return Math.max(0, Math.min(Math.max(flushMs, tookMs * stretch), flushMaxMs) - tookMs);
  }
}
