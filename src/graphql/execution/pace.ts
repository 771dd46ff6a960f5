/**
 * Owns the time that documents took in relation to their static cost: some fields take ten times what they
 * count.
 *
 * 1. About one run in eight takes longer than expected. So one slow run is noise, but a document that is
 *    slow now and then is expected to be slow.
 * 2. A document that never ran is expected to take longer than most do.
 */

/** Microseconds for a unit of cost, while nothing is known of a document. */
const unknownPace = 2;
const slowestPace = 100;
const fastestPace = 1 / 20;
/** The least time of any query. */
const leastUs = 10;
/** How far a run moves the expectation: seven steps down undo one up. */
const stepUp = 2;
const stepDown = 1.1;
/**
 * The least part of its static cost that a document counts. A query that found little so far may find much
 * later, while others wait beside it.
 */
const leastShare = 1 / 8;

export class Paces {
  readonly #paces = new WeakMap<object, number>();

  /** The expected time of a document of this cost, in about microseconds. */
  expectUs(document: object, cost: number): number {
    return leastUs + cost * this.#paceOf(document);
  }

  /** The cost in proportion to the time that the document takes. */
  costOf(document: object, cost: number): number {
    return cost * Math.max(this.#paceOf(document) / unknownPace, leastShare);
  }

  learn(document: object, cost: number, tookUs: number): void {
    const expected = this.#paceOf(document);
    const seen = Math.max(tookUs - leastUs, 0) / Math.max(cost, 1);
    const next =
      seen > expected ? Math.min(seen, expected * stepUp) : Math.max(seen, expected / stepDown);
    this.#paces.set(document, Math.min(Math.max(next, fastestPace), slowestPace));
  }

  #paceOf(document: object): number {
    return this.#paces.get(document) ?? unknownPace;
  }
}

/** The time that queries have taken in one turn of the loop; other requests of the same turn wait for it. */
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

  /** Whether so many more microseconds fit into this turn. */
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
