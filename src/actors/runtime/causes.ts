/**
 * Owns the way of a cause from a request to the messages that it sends, through whatever code lies between.
 * Libraries that keep a reference to the actors need not know of it.
 *
 * 1. A request's messages carry its cause while it is under way, and none after that. So timers and
 *    connections that it leaves behind have no cause.
 * 2. Actors do not look here: what an actor does later by itself, or asks of another, has no cause.
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

  /** Runs `work` with the cause of `seed`. `failed` gets an error, and whether `work` asked any actor. */
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

  /** Adds what became known of the request under way, such as its caller. */
  amend(more: Partial<CauseSeed>): void {
    const request = this.#underWay.getStore();
    if (request !== undefined && !request.over) request.seed = { ...request.seed, ...more };
  }

  /** The cause for the next message; null outside of any request. */
  take(): Cause | null {
    const request = this.#underWay.getStore();
    if (request === undefined || request.over) return null;
    request.sent += 1;
    return { ...request.seed, again: request.sent > 1 };
  }
}
