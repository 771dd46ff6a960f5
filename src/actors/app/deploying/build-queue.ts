/**
 * Owns the build slots of one server: at most `concurrency` builds at a time.
 *
 * 1. A free slot goes to the oldest waiting deployment, so that its place in line is its place among the
 *    queued ones in the store.
 * 2. A slot is held until it is given back. Giving it back twice is fine.
 * 3. A waiting deployment costs only its place in line. When its turn comes its actor is asked, and the
 *    actor may sleep until then. The deployment stays in line until it takes the slot or leaves.
 * 4. A deployment that does neither, or whose actor cannot be asked, is asked again later. Until then it
 *    delays nobody behind it.
 */
import type { Clock } from '../../../lib/clock.ts';

/**
 * Asks a waiting deployment to take its turn. `enter` or `leave` is called before the promise resolves.
 * Rejects when the actor could not be asked.
 */
export type AskTurn = () => Promise<unknown>;

/**
 * The queue passes over at most this many deployments that did not take their turn. More of them mean a
 * fault elsewhere.
 */
const asideMax = 100;

export interface BuildQueueOptions {
  /** Builds at a time; 1 or more. */
  concurrency: number;
  clock: Clock;
  /** The pause before a deployment that did not take its turn is asked again. Default 1,000. */
  retryMs?: number;
}

interface Waiter {
  readonly deploymentId: string;
  askTurn: AskTurn;
  state: 'waits' | 'asked' | 'aside';
}

export class BuildQueue {
  readonly #options: BuildQueueOptions;
  /** Sorted by id, which is the order of creation (invariant 1). */
  readonly #line: Waiter[] = [];
  #running = 0;
  #aside = 0;

  constructor(options: BuildQueueOptions) {
    const { concurrency } = options;
    if (!Number.isInteger(concurrency) || concurrency < 1) {
      throw new RangeError(`Cannot build with a concurrency of ${String(concurrency)}`);
    }
    this.#options = options;
  }

  /**
   * Returns the function that gives the slot back when a slot is free; else takes a place in line. May be
   * repeated.
   */
  enter(deploymentId: string, askTurn: AskTurn): (() => void) | undefined {
    const place = this.#placeOf(deploymentId);
    const known = this.#at(place, deploymentId);
    if (this.#isFreeAt(place)) {
      if (known !== undefined) this.#remove(place, known);
      return this.adopt();
    }
    if (known === undefined) this.#line.splice(place, 0, { deploymentId, askTurn, state: 'waits' });
    else {
      known.askTurn = askTurn;
      this.#setState(known, 'waits');
    }
    return undefined;
  }

  /** Gives up the place in line. Does nothing when the deployment has none. */
  leave(deploymentId: string): void {
    const place = this.#placeOf(deploymentId);
    const waiter = this.#at(place, deploymentId);
    if (waiter === undefined) return;
    this.#remove(place, waiter);
    this.#askNext();
  }

  /** Takes a slot at once, for a build that was running already when it was found again. */
  adopt(): () => void {
    this.#running += 1;
    let held = true;
    return () => {
      if (!held) return;
      held = false;
      this.#running -= 1;
      this.#askNext();
    };
  }

  isWaiting(deploymentId: string): boolean {
    return this.#at(this.#placeOf(deploymentId), deploymentId) !== undefined;
  }

  #placeOf(deploymentId: string): number {
    return this.#line.findLastIndex((waiter) => waiter.deploymentId < deploymentId) + 1;
  }

  #at(place: number, deploymentId: string): Waiter | undefined {
    const waiter = this.#line[place];
    return waiter?.deploymentId === deploymentId ? waiter : undefined;
  }

  #remove(place: number, waiter: Waiter): void {
    this.#setState(waiter, 'waits');
    this.#line.splice(place, 1);
  }

  #setState(waiter: Waiter, state: Waiter['state']): void {
    this.#aside += Number(state === 'aside') - Number(waiter.state === 'aside');
    waiter.state = state;
  }

  get #free(): number {
    return this.#options.concurrency - this.#running;
  }

  /** Whether there are slots for all before this place, and one more. */
  #isFreeAt(place: number): boolean {
    let before = 0;
    for (let i = 0; i < place && before < this.#free; i++) {
      if (this.#line[i]?.state !== 'aside') before += 1;
    }
    return before < this.#free;
  }

  #askNext(): void {
    let free = this.#free;
    const due: Waiter[] = [];
    for (let i = 0; i < this.#line.length && free > 0; i++) {
      const waiter = this.#line[i];
      if (waiter === undefined || waiter.state === 'aside') continue;
      free -= 1;
      if (waiter.state === 'waits') due.push(waiter);
    }
    for (const waiter of due) {
      this.#setState(waiter, 'asked');
      const answered = (): void => this.#answered(waiter);
      waiter.askTurn().then(answered, answered);
    }
  }

  #answered(waiter: Waiter): void {
    if (waiter.state === 'asked' && this.isWaiting(waiter.deploymentId)) {
      this.#setState(waiter, 'aside');
      this.#options.clock.after(this.#options.retryMs ?? 1000, () => {
        if (waiter.state === 'aside') this.#setState(waiter, 'waits');
        this.#askNext();
      });
    }
    if (this.#aside < asideMax) this.#askNext();
  }
}
