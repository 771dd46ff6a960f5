/**
 * Owns when a request begins its way to an app. Each takes the loop that all apps share for some hundredths of a
 * millisecond, and one that needs a new connection for some tenths.
 *
 * 1. In one turn of the loop so much begins for one target, and so much for all. What is left waits for a later
 *    turn.
 * 2. Targets that wait are served in turn. For each the order is kept.
 * 3. While little begins, that costs a count.
 */

/** What begins in a turn. */
export interface Beginner {
  go(): void;
}

/** What each target has for itself. */
export class TargetTurns {
  /** In the turn of that number. */
  begun = 0;
  turn = 0;
  readonly waiting: { cost: number; beginner: Beginner }[] = [];
}

/** By kept connections: for one target, and for all. */
const [eachMax, allMax] = [16, 64];
/** From here on turns are told apart. */
const countedFrom = 8;

export class RequestTurns {
  #turn = 1;
  #begun = 0;
  #isCounted = false;
  /** Those for which something waits. The target to be served next is the first. */
  readonly #waiting = new Set<TargetTurns>();

  /** Has it go, at once or in a later turn. */
  take(target: TargetTurns, cost: number, beginner: Beginner): void {
    if (target.waiting.length === 0 && this.#mayBegin(target, cost)) {
      beginner.go();
      return;
    }
    target.waiting.push({ cost, beginner });
    this.#waiting.add(target);
    this.#awaitNext();
  }

  #mayBegin(target: TargetTurns, cost: number): boolean {
    if (target.turn !== this.#turn) {
      target.turn = this.#turn;
      target.begun = 0;
    }
    if (target.begun + cost > eachMax || this.#begun + cost > allMax) return false;
    target.begun += cost;
    this.#begun += cost;
    if (this.#begun >= countedFrom) this.#awaitNext();
    return true;
  }

  #awaitNext(): void {
    if (this.#isCounted) return;
    this.#isCounted = true;
    setImmediate(() => this.#next());
  }

  #next(): void {
    this.#isCounted = false;
    this.#turn++;
    this.#begun = 0;
    for (const target of [...this.#waiting]) {
      // Its next turn comes after those of all others.
      this.#waiting.delete(target);
      for (let first = target.waiting[0]; first !== undefined; first = target.waiting[0]) {
        if (!this.#mayBegin(target, first.cost)) break;
        target.waiting.shift();
        first.beginner.go();
      }
      if (target.waiting.length > 0) this.#waiting.add(target);
    }
    if (this.#waiting.size > 0) this.#awaitNext();
  }
}
