/**
 * Owns whose turn it is at the authority: so many at once, the others in the order in which they came, and nobody while
 * it is left alone.
 */
import type { Clock } from '../../lib/clock.ts';

interface Turn {
  id: string;
  begin: () => void;
}

export class Turns {
  readonly #clock: Clock;
  readonly #atOnce: number;
  readonly #waiting = new Map<string, Turn>();
  readonly #underWay = new Set<string>();
  /** `isAsked`: by the word of the authority. */
  #pause: { isAsked: boolean; cancel: () => void } | null = null;

  constructor(clock: Clock, atOnce: number) {
    this.#clock = clock;
    this.#atOnce = atOnce;
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

  /** Nobody begins for so long. */
  pause(forMs: number, isAsked: boolean): void {
    this.#pause?.cancel();
    const cancel = this.#clock.after(forMs, () => this.#goOn());
    this.#pause = { isAsked, cancel };
  }

  /** Somebody asks for it: ends a pause that the authority did not ask for. */
  hurry(): void {
    if (this.#pause?.isAsked === false) this.#goOn();
  }

  close(): void {
    this.#waiting.clear();
    this.#pause?.cancel();
  }

  #goOn(): void {
    this.#pause?.cancel();
    this.#pause = null;
    this.#next();
  }

  #next(): void {
    for (const { id, begin } of this.#waiting.values()) {
      if (this.#pause !== null || this.#underWay.size >= this.#atOnce) return;
      this.#waiting.delete(id);
      this.#underWay.add(id);
      begin();
    }
  }
}
