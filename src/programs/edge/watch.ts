/** Owns the time of connections in whole seconds, so that noting that something came costs nothing. */
import { type Clock, every } from '../../lib/clock.ts';

export interface Watched {
  /** Called each second. */
  look(nowS: number): void;
}

export class Watch {
  /** Since it was made. */
  nowS = 0;
  readonly #watched = new Set<Watched>();
  readonly #stop: () => void;

  constructor(clock: Clock) {
    this.#stop = every(clock, 1000, () => {
      this.nowS++;
      for (const watched of this.#watched) watched.look(this.nowS);
    });
  }

  add(watched: Watched): void {
    this.#watched.add(watched);
  }

  delete(watched: Watched): void {
    this.#watched.delete(watched);
  }

  close(): void {
    this.#stop();
  }
}
