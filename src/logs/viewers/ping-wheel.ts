/**
 * Owns one timer for all open streams: a wheel that turns a spoke a second, and pings who sits on
 * it. It stands still while nobody sits on any.
 */
import type { Clock } from '../../lib/clock.ts';
import type { Viewer } from './viewer.ts';

const spokeMs = 1_000;

export interface PingWheelOptions {
  clock: Clock;
  /** Seconds between two pings of a stream. */
  everyS: number;
  ping: (viewers: ReadonlySet<Viewer>) => void;
}

export class PingWheel {
  readonly #options: PingWheelOptions;
  readonly #spokes: Set<Viewer>[];
  #current = 0;
  #seated = 0;
  #stopTimer: (() => void) | undefined;

  constructor(options: PingWheelOptions) {
    this.#options = options;
    this.#spokes = Array.from({ length: options.everyS }, () => new Set());
  }

  /** Pings from now on, for the first time a whole turn later. */
  add(viewer: Viewer): void {
    viewer.spoke = this.#current;
    this.#spokes[this.#current]?.add(viewer);
    this.#seated++;
    if (this.#stopTimer === undefined) this.#arm();
  }

  remove(viewer: Viewer): void {
    if (viewer.spoke === -1) return;
    this.#spokes[viewer.spoke]?.delete(viewer);
    viewer.spoke = -1;
    if (--this.#seated > 0) return;
    this.#stopTimer?.();
    this.#stopTimer = undefined;
  }

  #arm(): void {
    this.#stopTimer = this.#options.clock.after(spokeMs, () => {
      this.#current = (this.#current + 1) % this.#spokes.length;
      this.#arm();
      const spoke = this.#spokes[this.#current];
      if (spoke !== undefined && spoke.size > 0) this.#options.ping(spoke);
    });
  }
}
