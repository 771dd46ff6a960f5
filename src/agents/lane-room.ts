/**
 * Owns how much may be under way on one connection of an agent.
 *
 * 1. Streams of visitors have room of their own: however many come, nothing of ours is refused.
 * 2. An app's visitors have no more of it than they leave free, so that those of other apps find some.
 */
import { ServiceError } from '../lib/errors.ts';
import { OwnTally } from '../lib/tally.ts';
import type { UnderWay } from '../protocol/agent-wire.ts';

export class LaneRoom {
  readonly #max: UnderWay;
  readonly #visitorsOf = new OwnTally();
  readonly #count: UnderWay = { own: 0, visitors: 0 };

  constructor(max: UnderWay) {
    this.#max = max;
  }

  /**
   * The returned function gives it back. OVERLOADED where there is none. `takenMax`: how many streams the agent takes
   * at once; one of an earlier version takes fewer.
   */
  take(visitorsOf: string | null, takenMax: number): () => void {
    const { own, visitors } = this.#max;
    const kind = visitorsOf === null ? 'own' : 'visitors';
    const max = visitorsOf === null ? own : Math.min(visitors, takenMax - own);
    const free = max - this.#count[kind];
    if (free <= 0 || (visitorsOf !== null && this.#visitorsOf.count(visitorsOf) >= free)) {
      throw new ServiceError('OVERLOADED', 'Too much is under way to that server; retry.');
    }
    this.#count[kind] += 1;
    if (visitorsOf !== null) this.#visitorsOf.add(visitorsOf);
    return () => {
      this.#count[kind] -= 1;
      if (visitorsOf !== null) this.#visitorsOf.remove(visitorsOf);
    };
  }
}
