/**
 * Owns how many archives one person, and the people of one team, send and fetch at a time: each of them holds
 * files and memory for as long as its client takes.
 */
import type { Principal } from '../../auth/callers/principal.ts';
import { ServiceError } from '../../lib/errors.ts';
import { OwnTally, type Tally } from '../../lib/tally.ts';
import type { AppRecord } from '../../store/records/records.ts';

const personMax = 32;
const teamMax = 64;

export class Transfers {
  readonly #underWay: Tally;

  /** `underWay` counts those of all threads; default: those of this one. */
  constructor(underWay: Tally = new OwnTally()) {
    this.#underWay = underWay;
  }

  /** Counts the work while it runs. Rejects with RATE_LIMITED when there is too much of it. */
  async run<T>(
    principal: Principal,
    { teamId }: Pick<AppRecord, 'teamId'>,
    work: () => Promise<T>,
  ): Promise<T> {
    const userId = principal.kind === 'anonymous' ? '' : principal.userId;
    const [person, team] = [`transfer ${userId}`, `transfer ${teamId}`];
    if (this.#underWay.count(person) >= personMax || this.#underWay.count(team) >= teamMax) {
      throw new ServiceError('RATE_LIMITED', 'Too many archives of yours are under way.', {
        retryAfterS: 5,
      });
    }
    this.#underWay.add(person);
    this.#underWay.add(team);
    try {
      return await work();
    } finally {
      this.#underWay.remove(person);
      this.#underWay.remove(team);
    }
  }
}
