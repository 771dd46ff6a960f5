/**
 * Owns the times between the flushes of one fan-out, as functions of what its rounds take.
 *
 * 1. A line is with its last viewer `flushMs` after the flush in front of it began: the next one begins
 *    earlier by what a round takes.
 * 2. Unless that kept the loop busy for more than a third of its time: who has much to do does not do
 *    it more often.
 * 3. A round that takes longer than `flushMs` is followed by a pause, and both by `flushMaxMs` at most.
 */
const loopShare = 1 / 3;
const stretch = 1.25;
/** The quickest of so many rounds tells what one takes: the others had to wait for a core. */
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

  /** Notes what a round took from its first write to its last. */
  note(tookMs: number): void {
    this.#lastMs.push(tookMs);
    if (this.#lastMs.length > remembered) this.#lastMs.shift();
  }

  /** How much earlier than `flushMs` behind the last flush the next one is to begin: whole milliseconds. */
  get leadMs(): number {
    const leastMs = this.#lastMs.length === 0 ? 0 : Math.min(...this.#lastMs);
    const roomMs = this.#options.flushMs - leastMs / loopShare;
    return Math.floor(Math.max(0, Math.min(leastMs, roomMs)));
  }

  /** From the end of a round to the next one, where lines wait already. */
  pauseMs(tookMs: number): number {
    const { flushMs, flushMaxMs } = this.#options;
    return Math.max(0, Math.min(Math.max(flushMs, tookMs * stretch), flushMaxMs) - tookMs);
  }
}
