/**
 * Owns whose turn it is at the authority: so many at once, the others in the order in which they came, and nobody while
 * it is left alone.
 */
import type { Clock } from '../../lib/clock.ts';

interface Turn {
  id: string;
  begin: () => void;
}

interface Pause {
  /** By the word of the authority. */
  isAsked: boolean;
  cancel: () => void;
}

export class Turns {
  readonly #clock: Clock;
  readonly #atOnce: number;
  readonly #waiting = new Map<string, Turn>();
  readonly #underWay = new Set<string>();
  /** Those that are not over. They are few, since nobody begins meanwhile. */
  readonly #pauses = new Set<Pause>();

  constructor(clock: Clock, atOnce: number) {
    this.#clock = clock;
    this.#atOnce = atOnce;
  }

  get isPaused(): boolean {
    return this.#pauses.size > 0;
  }

  /** Calls `begin` when it is its turn, at once where it can be; not for one that waits or is under way. */
  take(id: string, begin: () => void): void {
    if (this.#underWay.has(id) || this.#waiting.has(id)) return;
    this.#waiting.set(id, { id, begin });
    this.#next();
  }

  /** Whoever began has ended. */
  end(id: string): void {
    this.#underWay.delete(id);
    this.#next();
  }

  /** Nobody begins for so long, however long other pauses are. `isAsked`: by the word of the authority. */
  pause(forMs: number, isAsked: boolean): void {
    const cancel = this.#clock.after(forMs, () => {
      this.#pauses.delete(pause);
      this.#next();
    });
    const pause: Pause = { isAsked, cancel };
    this.#pauses.add(pause);
  }

  /** Somebody asks for it: ends the pauses that the authority did not ask for. */
  hurry(): void {
    for (const pause of this.#pauses) if (!pause.isAsked) this.#end(pause);
    this.#next();
  }

  close(): void {
    this.#waiting.clear();
    for (const pause of this.#pauses) this.#end(pause);
  }

  #end(pause: Pause): void {
    pause.cancel();
    this.#pauses.delete(pause);
  }

  #next(): void {
    for (const { id, begin } of this.#waiting.values()) {
      if (this.#pauses.size > 0 || this.#underWay.size >= this.#atOnce) return;
      this.#waiting.delete(id);
      this.#underWay.add(id);
      begin();
    }
  }
}
