/**
 * Owns the build slots of one server: at most `concurrency` builds at a time.
 *
 * 1. A free slot goes to the waiting deployment that was made first, so that its place in line is
 *    its place among the queued ones in the store.
 * 2. A slot is held until it is given back; giving back twice is fine.
 */

export interface BuildQueueOptions {
  /** Builds at a time; 1 or more. */
  concurrency: number;
}

interface Waiter {
  deploymentId: string;
  grant: () => void;
}

export class BuildQueue {
  readonly #concurrency: number;
  readonly #waiters: Waiter[] = [];
  #running = 0;

  constructor({ concurrency }: BuildQueueOptions) {
    if (!Number.isInteger(concurrency) || concurrency < 1) {
      throw new RangeError(`Cannot build with a concurrency of ${String(concurrency)}`);
    }
    this.#concurrency = concurrency;
  }

  /** Resolves with the function that gives the slot back; rejects when `signal` aborts first. */
  acquire(deploymentId: string, signal: AbortSignal): Promise<() => void> {
    if (signal.aborted) return Promise.reject(signal.reason as Error);
    if (this.#running < this.#concurrency) return Promise.resolve(this.#take());
    return new Promise((resolve, reject) => {
      const leave = (): void => {
        this.#waiters.splice(this.#waiters.indexOf(waiter), 1);
        reject(signal.reason as Error);
      };
      const waiter: Waiter = {
        deploymentId,
        grant: () => {
          signal.removeEventListener('abort', leave);
          resolve(this.#take());
        },
      };
      signal.addEventListener('abort', leave, { once: true });
      // Ids sort by the time of their making (invariant 1), and nearly all come in that order: looked
      // for from the end, the place of one in a storm does not cost as much as there are before it.
      const before = this.#waiters.findLastIndex((other) => other.deploymentId <= deploymentId);
      this.#waiters.splice(before + 1, 0, waiter);
    });
  }

  /** A slot at once, for a build that is running already and was found again. */
  adopt(): () => void {
    return this.#take();
  }

  /** Whether this deployment waits for a slot. */
  isWaiting(deploymentId: string): boolean {
    return this.#waiters.some((waiter) => waiter.deploymentId === deploymentId);
  }

  #take(): () => void {
    this.#running += 1;
    let held = true;
    return () => {
      if (!held) return;
      held = false;
      this.#running -= 1;
      if (this.#running < this.#concurrency) this.#waiters.shift()?.grant();
    };
  }
}
