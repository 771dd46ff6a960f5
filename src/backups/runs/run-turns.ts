/**
 * Owns how many backups run at a time over the whole instance, and whose turn it is.
 *
 * 1. At most `atOnce` run; teams take turns, and within a team the one that came first goes first.
 * 2. A turn is held until it is given back. Giving it back twice is fine.
 */
import { FairQueue } from '../../workers/fair-queue.ts';

interface Waiter {
  begin: () => void;
}

export class RunTurns {
  readonly #atOnce: number;
  readonly #waiting = new FairQueue<Waiter>({ quantum: 1 });
  #running = 0;

  constructor(atOnce: number) {
    this.#atOnce = atOnce;
  }

  /** Whether who comes now has to wait. */
  get areTaken(): boolean {
    return this.#running >= this.#atOnce;
  }

  /** Resolves with the function that gives the turn back. Rejects with the reason of `signal`. */
  async take(teamId: string, signal: AbortSignal): Promise<() => void> {
    signal.throwIfAborted();
    if (this.areTaken) await this.#wait(teamId, signal);
    else this.#running++;
    let isHeld = true;
    return () => {
      if (isHeld) this.#next();
      isHeld = false;
    };
  }

  #wait(teamId: string, signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const leave = (): void => {
        this.#waiting.remove((other) => other === waiter);
        reject(signal.reason as Error);
      };
      const waiter: Waiter = {
        begin: () => {
          signal.removeEventListener('abort', leave);
          resolve();
        },
      };
      this.#waiting.push(teamId, 1, waiter);
      signal.addEventListener('abort', leave, { once: true });
    });
  }

  /** The next one takes the place over; else it is free. */
  #next(): void {
    const next = this.#waiting.take();
    if (next === undefined) this.#running--;
    else next.begin();
  }
}
