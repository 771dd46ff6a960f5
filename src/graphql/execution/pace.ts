/**
 * Owns how long documents take for their static cost, as they turned out to: some fields cost ten
 * times what they count.
 *
 * 1. About one run in eight takes longer than what is expected of a document. So one slow run is noise,
 *    and a document that is slow now and then is expected to be slow.
 * 2. What a document usually takes is kept apart: about as many runs take longer as take less.
 * 3. A document that never ran is expected to take longer than most do.
 */

/** Microseconds for a unit of cost, as long as nothing is known of a document. */
const unknownPace = 2;
const slowestPace = 100;
const fastestPace = 1 / 20;
/** What any query takes. */
const leastUs = 10;
/** How far a run moves what is expected: seven steps down undo one up. */
const stepUp = 2;
const stepDown = 1.1;
/** The same for what is usual: a step down undoes a step up. */
const usualStep = 1.1;
/**
 * The least that a document counts, of its static cost: one that found little so far may find much some
 * day, and others wait beside it.
 */
const leastShare = 1 / 8;

/** Microseconds for a unit of cost. */
interface Pace {
  expected: number;
  usual: number;
}

const unknown: Pace = { expected: unknownPace, usual: unknownPace };

export class Paces {
  readonly #paces = new WeakMap<object, Pace>();

  /** What a document of this cost takes, in about microseconds. */
  expectUs(document: object, cost: number): number {
    return leastUs + cost * this.#paceOf(document).expected;
  }

  /** What it usually takes, in about microseconds. */
  usualUs(document: object, cost: number): number {
    return leastUs + cost * this.#paceOf(document).usual;
  }

  /** The cost it would have if it counted as much as it takes. */
  costOf(document: object, cost: number): number {
    return cost * Math.max(this.#paceOf(document).expected / unknownPace, leastShare);
  }

  learn(document: object, cost: number, tookUs: number): void {
    const { expected, usual } = this.#paceOf(document);
    const seen = Math.max(tookUs - leastUs, 0) / Math.max(cost, 1);
    this.#paces.set(document, {
      expected: moved(expected, seen, stepUp, stepDown),
      usual: moved(usual, seen, usualStep, usualStep),
    });
  }

  #paceOf(document: object): Pace {
    return this.#paces.get(document) ?? unknown;
  }
}

function moved(pace: number, seen: number, up: number, down: number): number {
  const next = seen > pace ? Math.min(seen, pace * up) : Math.max(seen, pace / down);
  return Math.min(Math.max(next, fastestPace), slowestPace);
}

/** How much of one turn of the loop queries have taken: what others wait who come in the same turn. */
export class Turn {
  readonly #maxUs: number;
  #spentUs = 0;
  #endsSoon = false;
  readonly #end = (): void => {
    this.#spentUs = 0;
    this.#endsSoon = false;
  };

  constructor(maxUs: number) {
    this.#maxUs = maxUs;
  }

  /** Whether as much more may be done in this turn. */
  hasRoom(us: number): boolean {
    return this.#spentUs + us <= this.#maxUs;
  }

  spend(us: number): void {
    this.#spentUs += us;
    if (this.#endsSoon) return;
    this.#endsSoon = true;
    setImmediate(this.#end);
  }
}
