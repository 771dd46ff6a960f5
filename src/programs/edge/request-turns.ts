/**
 * Owns when a request begins its way to an app. Each takes the loop that all apps share for some tenths of a
 * millisecond, and again for each step of its way; what an app answers can make that six.
 *
 * 1. In one turn of the loop so many begin for one target, and so many for all. What is left waits for a later
 *    turn.
 * 2. Targets that wait are served in turn. For each the order is kept.
 */
import type { Target } from '../../protocol/edge-messages.ts';

/** For one target, and for all. A turn itself costs next to nothing: more of them make as much. */
const [eachMax, allMax] = [1, 4];

export class RequestTurns {
  readonly #begun = new Map<Target, number>();
  #allBegun = 0;
  /** The target to be served next is the first. No line is empty. */
  readonly #lines = new Map<Target, (() => void)[]>();
  #isUnderWay = false;

  /** Resolves when a request to the target may begin; undefined: at once. */
  wait(target: Target): Promise<void> | undefined {
    const line = this.#lines.get(target);
    if (line === undefined && this.#begin(target)) return undefined;
    return new Promise((resolve) => {
      if (line === undefined) this.#lines.set(target, [resolve]);
      else line.push(resolve);
    });
  }

  /** False: this turn has no room for it. */
  #begin(target: Target): boolean {
    const begun = this.#begun.get(target) ?? 0;
    if (begun === eachMax || this.#allBegun === allMax) return false;
    this.#begun.set(target, begun + 1);
    this.#allBegun++;
    this.#awaitNext();
    return true;
  }

  #awaitNext(): void {
    if (this.#isUnderWay) return;
    this.#isUnderWay = true;
    setImmediate(() => this.#next());
  }

  #next(): void {
    this.#isUnderWay = false;
    this.#begun.clear();
    this.#allBegun = 0;
    for (const [target, line] of [...this.#lines]) {
      if (this.#allBegun === allMax) break;
      // Its next turn comes after those of all others.
      this.#lines.delete(target);
      while (line.length > 0 && this.#begin(target)) line.shift()?.();
      if (line.length > 0) this.#lines.set(target, line);
    }
  }
}
