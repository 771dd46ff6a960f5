/**
 * Owns the turns at hashing passwords. Few are hashed at once: each takes 32 MiB and a thread of the pool
 * that file and name look-ups share. Further ones wait.
 *
 * 1. Networks take turns, so that one which sends many delays another by one turn. Within a network the
 *    order is kept.
 * 2. What waits is bounded for each network, and altogether. When all places are taken, the newest of the
 *    network that has most waiting gives its place to one of a network that has fewer.
 */
import { availableParallelism } from 'node:os';

import { ServiceError } from '../../lib/errors.ts';
import { networkOf } from '../../lib/networks.ts';

/** On two cores one is left to the apps and their visitors. */
const atOnceOf = (cores: number): number => (cores > 2 ? 2 : 1);
const networkWaitingMax = 100;
const allWaitingMax = 1_000;

interface Waiter {
  begin: () => void;
  refuse: (error: ServiceError) => void;
}

export class HashingTurns {
  readonly #atOnceMax: number;
  /** Of each network that waits, in the order of their turns. No line is empty. */
  readonly #lines = new Map<string, Waiter[]>();
  #running = 0;
  #waiting = 0;

  constructor(cores = availableParallelism()) {
    this.#atOnceMax = atOnceOf(cores);
  }

  /**
   * Runs the work of an address when its turn has come. RATE_LIMITED when its network has too many waiting,
   * OVERLOADED when all have.
   */
  async run<T>(address: string, work: () => Promise<T>): Promise<T> {
    if (this.#running >= this.#atOnceMax) await this.#turn(networkOf(address));
    else this.#running += 1;
    try {
      return await work();
    } finally {
      this.#handOn();
    }
  }

  #turn(network: string): Promise<void> {
    const line = this.#lines.get(network) ?? [];
    if (line.length >= networkWaitingMax) {
      const detail = 'Too many sign-ins at once from this network.';
      throw new ServiceError('RATE_LIMITED', detail, { retryAfterS: 1 });
    }
    if (this.#waiting >= allWaitingMax) this.#makeRoom(line.length);
    return new Promise((begin, refuse) => {
      line.push({ begin, refuse });
      this.#lines.set(network, line);
      this.#waiting += 1;
    });
  }

  /** The work that ended gives its place to the next, so `#running` stays as it is. */
  #handOn(): void {
    const [next] = this.#lines;
    if (next === undefined) {
      this.#running -= 1;
      return;
    }
    const [network, line] = next;
    const waiter = line.shift();
    // The network's next turn comes after those of all others.
    this.#lines.delete(network);
    if (line.length > 0) this.#lines.set(network, line);
    this.#waiting -= 1;
    waiter?.begin();
  }

  #makeRoom(own: number): void {
    let longest: Waiter[] = [];
    for (const line of this.#lines.values()) if (line.length > longest.length) longest = line;
    const refusal = new ServiceError('OVERLOADED', 'Too many sign-ins at once.');
    // A place is given up only for a network that has fewer even with it, so no line becomes empty.
    if (longest.length <= own + 1) throw refusal;
    longest.pop()?.refuse(refusal);
    this.#waiting -= 1;
  }
}
