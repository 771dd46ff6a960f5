/**
 * Owns the way of a cause from where a request comes in to the messages it sends, through whatever
 * code lies between: libraries that keep a reference to the actors need not know of it.
 *
 * 1. A request's messages carry its cause as long as it is under way, and none after that: timers
 *    and connections that it leaves behind are nobody's doing.
 * 2. Actors do not look here: what one does later by itself, or asks of another, has no cause.
 */
import { AsyncLocalStorage } from 'node:async_hooks';
import type { Cause } from './actor.ts';

export type CauseSeed = Omit<Cause, 'again'>;

interface UnderWay {
  seed: CauseSeed;
  sent: number;
  over: boolean;
}

export class Causes {
  readonly #underWay = new AsyncLocalStorage<UnderWay>();

  /** Runs `work` as the doing of `seed`; tells afterwards whether it asked any actor. */
  async during<T>(
    seed: CauseSeed,
    work: () => T | Promise<T>,
    failed: (error: unknown, asked: boolean) => void,
  ): Promise<T> {
    const request: UnderWay = { seed, sent: 0, over: false };
    try {
      return await this.#underWay.run(request, work);
    } catch (error) {
      failed(error, request.sent > 0);
      throw error;
    } finally {
      request.over = true;
    }
  }

  /** Adds what the request under way has turned out to be, such as who makes it. */
  amend(more: Partial<CauseSeed>): void {
    const request = this.#underWay.getStore();
    if (request !== undefined && !request.over) request.seed = { ...request.seed, ...more };
  }

  /** The cause for a message that is about to be sent; null outside of any request. */
  take(): Cause | null {
    const request = this.#underWay.getStore();
    if (request === undefined || request.over) return null;
    request.sent += 1;
    return { ...request.seed, again: request.sent > 1 };
  }
}
