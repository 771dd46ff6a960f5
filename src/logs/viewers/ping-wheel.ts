/**
 * Owns the pings of all open streams with one timer: a wheel moves on by one spoke a second, and the
 * viewers on that spoke are pinged. Without viewers it stands still.
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

  /** Pings the viewer from now on, the first time after a whole turn of the wheel. */
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
