/**
 * Owns how much a session may do that costs its client nothing.
 *
 * 1. Streams that end before their time, pings, settings, refused streams and empty frames are counted: so many at
 *    once, and so many more each second.
 * 2. Frames that go along with requests and answers, such as window updates and priorities, are free in proportion to
 *    those; what is beyond is counted.
 */
import type { Clock } from '../../../lib/clock.ts';

const [countedMax, countedPerS] = [200, 20];
const [spareFirst, spareMax] = [1000, 10_000];

export class Calm {
  readonly #clock: Clock;
  readonly #lost: () => void;
  #room = countedMax;
  #atMs: number;
  #spare = spareFirst;

  /** `lost`: it was too much. */
  constructor(clock: Clock, lost: () => void) {
    this.#clock = clock;
    this.#lost = lost;
    this.#atMs = clock.now();
  }

  count(): void {
    const nowMs = this.#clock.now();
    // A clock may be set back.
    const more = (Math.max(nowMs - this.#atMs, 0) * countedPerS) / 1000;
    this.#room = Math.min(countedMax, this.#room + more) - 1;
    this.#atMs = nowMs;
    if (this.#room < 0) this.#lost();
  }

  /** So many frames more are free. */
  earn(frames: number): void {
    this.#spare = Math.min(spareMax, this.#spare + frames);
  }

  spend(): void {
    if (this.#spare > 0) this.#spare--;
    else this.count();
  }
}
