/**
 * Owns how long documents take for their static cost, as they turned out to: some fields cost ten
 * times what they count.
 *
 * 1. One slow run is noise: it doubles what is believed of a document at most, and one fast run takes
 *    a tenth off it. So a document that is slow now and then is expected to be slow.
 * 2. What it usually takes is told apart from that: about as many runs take longer as take less.
 */

/** Microseconds for a unit of cost, as long as nothing is known of a document. */
const usualPace = 1;
/** The same where it matters that it may be slower than it looks. */
const carefulPace = 2;
/** From here on a document counts as more than its cost; a busy machine makes all look slower. */
const slowPace = 2;
/** As how much less than its cost a quick one counts at most. */
const quickMost = 1 / 8;
const slowestPace = 100;
const fastestPace = 1 / 20;
/** What any query takes. */
const leastUs = 10;
/** How far one run moves what is usual. */
const step = 1.1;

interface Pace {
  expected: number;
  usual: number;
}

export class Paces {
  readonly #paces = new WeakMap<object, Pace>();

  /** What a document of this cost takes, in about microseconds. */
  expectUs(document: object, cost: number): number {
    return leastUs + cost * this.#of(document);
  }

  /** What it usually takes; of one that never ran more than is likely. */
  usualUs(document: object, cost: number): number {
    return leastUs + cost * (this.#paces.get(document)?.usual ?? carefulPace);
  }

  /** The cost it would have if it counted as much as it takes; never below its static cost. */
  costOf(document: object, cost: number): number {
    return cost * Math.max(this.#of(document) / slowPace, 1);
  }

  /**
   * The same, and below its static cost where it is known to be quick; by no more than what one that
   * found little so far, and finds much some day, may cost those who wait beside it.
   */
  heavinessOf(document: object, cost: number): number {
    const pace = this.#paces.get(document)?.expected ?? carefulPace;
    return cost * Math.max(pace / slowPace, quickMost);
  }

  learn(document: object, cost: number, tookUs: number): void {
    let pace = this.#paces.get(document);
    if (pace === undefined) {
      pace = { expected: usualPace, usual: carefulPace };
      this.#paces.set(document, pace);
    }
    const { expected, usual } = pace;
    const seen = Math.max(tookUs - leastUs, 0) / Math.max(cost, 1);
    pace.expected = within(
      seen > expected ? Math.min(seen, expected * 2) : Math.max(seen, expected * 0.9),
    );
    pace.usual = within(seen > usual ? Math.min(seen, usual * step) : Math.max(seen, usual / step));
  }

  #of(document: object): number {
    return this.#paces.get(document)?.expected ?? usualPace;
  }
}

function within(pace: number): number {
  return Math.min(Math.max(pace, fastestPace), slowestPace);
}
