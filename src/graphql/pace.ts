/**
 * Owns how long documents take for their static cost, as they turned out to: some fields cost ten
 * times what they count.
 *
 * 1. One slow run is noise: it doubles what is believed of a document at most, and one fast run takes
 *    a tenth off it.
 */

/** Microseconds for a unit of cost, as long as nothing is known of a document. */
const usualPace = 1;
/** From here on a document counts as more than its cost; a busy machine makes all look slower. */
const slowPace = 2;
const slowestPace = 100;
const fastestPace = 1 / 20;
/** What any query takes. */
const leastUs = 10;

export class Paces {
  readonly #paces = new WeakMap<object, number>();

  /** Whether it ran before. */
  knows(document: object): boolean {
    return this.#paces.has(document);
  }

  /** What a document of this cost takes, in about microseconds. */
  expectUs(document: object, cost: number): number {
    return leastUs + cost * this.#of(document);
  }

  /** The cost it would have if it counted as much as it takes; never below its static cost. */
  costOf(document: object, cost: number): number {
    return cost * Math.max(this.#of(document) / slowPace, 1);
  }

  learn(document: object, cost: number, tookUs: number): void {
    const known = this.#of(document);
    const seen = Math.max(tookUs - leastUs, 0) / Math.max(cost, 1);
    const pace = seen > known ? Math.min(seen, known * 2) : Math.max(seen, known * 0.9);
    this.#paces.set(document, Math.min(Math.max(pace, fastestPace), slowestPace));
  }

  #of(document: object): number {
    return this.#paces.get(document) ?? usualPace;
  }
}
