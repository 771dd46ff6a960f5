/** Owns how many of something there are at a time, in all and of each tenant: a quarter of all. */
import { ServiceError } from '../../lib/errors.ts';
import { OwnTally } from '../../lib/tally.ts';

export class Shares {
  readonly #what: string;
  readonly #max: number;
  readonly #taken = new OwnTally();
  #all = 0;

  /** `what` there are, for people: `commands run`. */
  constructor(what: string, max: number) {
    this.#what = what;
    this.#max = max;
  }

  /** Takes one; what it returns gives that back, once. Throws OVERLOADED. */
  take(tenant: string): () => void {
    if (this.#all >= this.#max) {
      throw new ServiceError('OVERLOADED', `Too many ${this.#what} on this server.`);
    }
    if (this.#taken.count(tenant) >= this.#max / 4) {
      throw new ServiceError('OVERLOADED', `Too many ${this.#what} for this team.`);
    }
    this.#all++;
    this.#taken.add(tenant);
    let isBack = false;
    return () => {
      if (isBack) return;
      isBack = true;
      this.#all--;
      this.#taken.remove(tenant);
    };
  }
}
