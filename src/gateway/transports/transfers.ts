/**
 * Owns how many archives or backups one person, and the people of one team, send and fetch at a time: each of them holds
 * files and memory for as long as its client takes.
 */
import type { Principal } from '../../auth/callers/principal.ts';
import { ServiceError } from '../../lib/errors.ts';
import { OwnTally, type Tally } from '../../lib/tally.ts';

export interface TransferLimits {
  /** What is counted together. */
  name: string;
  personMax: number;
  teamMax: number;
}

export const archiveLimits: TransferLimits = { name: 'transfer', personMax: 32, teamMax: 64 };
/** Each takes little memory while its client reads slowly. */
export const backupLimits: TransferLimits = { name: 'backup', personMax: 2_000, teamMax: 4_000 };

export class Transfers {
  readonly #underWay: Tally;
  readonly #limits: TransferLimits;

  /** `underWay` counts those of all threads; default: those of this one. */
  constructor(underWay: Tally = new OwnTally(), limits = archiveLimits) {
    this.#underWay = underWay;
    this.#limits = limits;
  }

  /** Counts the work while it runs. Rejects with RATE_LIMITED when there is too much of it. */
  async run<T>(
    principal: Principal,
    { teamId }: { teamId: string },
    work: () => Promise<T>,
  ): Promise<T> {
    const userId = principal.kind === 'anonymous' ? '' : principal.userId;
    const { name, personMax, teamMax } = this.#limits;
    const [person, team] = [`${name} ${userId}`, `${name} ${teamId}`];
    if (this.#underWay.count(person) >= personMax || this.#underWay.count(team) >= teamMax) {
      throw new ServiceError('RATE_LIMITED', 'Too many transfers of yours are under way.', {
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
