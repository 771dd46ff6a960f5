/**
 * Owns how many password hashes run at once. Each takes 32 MiB and a thread of the pool that file and
 * name look-ups share. Further ones wait in turn; when too many wait, the next is OVERLOADED.
 */
import { ServiceError } from '../../lib/errors.ts';

export class HashSemaphore {
  readonly #atOnce: number;
  readonly #waitingMax: number;
  readonly #waiting: (() => void)[] = [];
  #running = 0;

  constructor(options: { atOnce: number; waitingMax: number }) {
    this.#atOnce = options.atOnce;
    this.#waitingMax = options.waitingMax;
  }

  async run<T>(work: () => Promise<T>): Promise<T> {
    if (this.#running >= this.#atOnce) {
      if (this.#waiting.length >= this.#waitingMax) {
        throw new ServiceError('OVERLOADED', 'Too many sign-ins at once.');
      }
      // The work that ends hands its place on, so `#running` stays as it is.
      await new Promise<void>((resolve) => this.#waiting.push(resolve));
    } else this.#running++;
    try {
      return await work();
    } finally {
      const next = this.#waiting.shift();
      if (next) next();
      else this.#running--;
    }
  }
}
