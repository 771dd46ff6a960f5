/**
 * Owns the build slots of one server: at most `concurrency` builds at a time.
 *
 * 1. Teams take turns (`build-turns.ts`): a free slot goes to the waiting deployment of the lowest turn, and
 *    of one turn to the oldest. So its place in line is its place among the queued ones in the store.
 * 2. A slot is held until it is given back. Giving it back twice is fine.
 * 3. A waiting deployment costs only its place in line. When its turn comes its actor is asked, and the
 *    actor may sleep until then. The deployment stays in line until it takes the slot or leaves.
 * 4. A deployment that does neither, or whose actor cannot be asked, is asked again later. Until then it
 *    delays nobody behind it.
 */
import type { Clock } from '../../../lib/clock.ts';
import { BuildTurns, type Queued } from './build-turns.ts';

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
  /** What waits as the service starts. */
  queued?: readonly Queued[];
  /** The pause before a deployment that did not take its turn is asked again. Default 1,000. */
  retryMs?: number;
}

interface Waiter {
  readonly deployment: Queued;
  askTurn: AskTurn;
  state: 'waits' | 'asked' | 'aside';
}

export class BuildQueue {
  readonly #options: BuildQueueOptions;
  readonly #turns: BuildTurns;
  /** Sorted by turn and id, which is in the order of creation (invariant 1). */
  readonly #line: Waiter[] = [];
  #running = 0;
  #aside = 0;

  constructor(options: BuildQueueOptions) {
    const { concurrency } = options;
    if (!Number.isInteger(concurrency) || concurrency < 1) {
      throw new RangeError(`Cannot build with a concurrency of ${String(concurrency)}`);
    }
    this.#options = options;
    this.#turns = new BuildTurns(options.queued ?? []);
  }

  /** The turn of a deployment of the team that is being made, to be stored with it. */
  nextTurn(deploymentId: string, teamId: string): number {
    return this.#turns.next(deploymentId, teamId);
  }

  /**
   * Returns the function that gives the slot back when a slot is free; else takes a place in line. May be
   * repeated.
   */
  enter(deployment: Queued, askTurn: AskTurn): (() => void) | undefined {
    const place = this.#line.findLastIndex((waiter) => isBefore(waiter.deployment, deployment)) + 1;
    const known =
      this.#line[place]?.deployment.id === deployment.id ? this.#line[place] : undefined;
    if (this.#isFreeAt(place)) {
      if (known !== undefined) this.#remove(place, known);
      this.#turns.begin(deployment);
      return this.adopt();
    }
    if (known === undefined) this.#line.splice(place, 0, { deployment, askTurn, state: 'waits' });
    else {
      known.askTurn = askTurn;
      this.#setState(known, 'waits');
    }
    return undefined;
  }

  /** Gives up the place in line. Does nothing when the deployment has none. */
  leave(deploymentId: string): void {
    this.#turns.drop(deploymentId);
    const place = this.#placeOf(deploymentId);
    const waiter = this.#line[place];
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
    return this.#placeOf(deploymentId) >= 0;
  }

  /** -1 for a deployment that is not in line. */
  #placeOf(deploymentId: string): number {
    return this.#line.findIndex(({ deployment }) => deployment.id === deploymentId);
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
    if (waiter.state === 'asked' && this.isWaiting(waiter.deployment.id)) {
      this.#setState(waiter, 'aside');
      this.#options.clock.after(this.#options.retryMs ?? 1000, () => {
        if (waiter.state === 'aside') this.#setState(waiter, 'waits');
        this.#askNext();
      });
    }
    if (this.#aside < asideMax) this.#askNext();
  }
}

function isBefore(one: Queued, other: Queued): boolean {
  const turns = (one.buildTurn ?? 0) - (other.buildTurn ?? 0);
  return turns === 0 ? one.id < other.id : turns < 0;
}
