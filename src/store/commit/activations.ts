/**
 * Owns which activation of an actor may commit.
 *
 * 1. Epochs grow with every activation, across starts too; a later one shuts out an earlier.
 * 2. After a refused commit the activation commits nothing more: what was queued behind it was
 *    built on what was refused. Where nothing was queued, `forgive` lets it go on.
 * 3. Memory is bounded: the actors that were silent longest are forgotten.
 */
import { ServiceError } from '../../lib/errors.ts';

const activationsPerStart = 2 ** 32;
const actorsMax = 100_000;

interface Standing {
  epoch: number;
  refused: boolean;
}

export class Activations {
  readonly #standings = new Map<string, Standing>();
  #next: number;

  /** `start`: how often the store was opened, this time included. */
  constructor(start: number) {
    this.#next = start * activationsPerStart;
  }

  /** The epoch of a new activation, which shuts out all earlier ones of the actor. */
  next(actor: string): number {
    const epoch = this.#next++;
    this.#set(actor, { epoch, refused: false });
    return epoch;
  }

  /** Throws when this activation may not commit (any more). */
  check(actor: string, epoch: number): void {
    const standing = this.#standings.get(actor);
    if (standing === undefined || epoch > standing.epoch) {
      this.#set(actor, { epoch, refused: false });
      return;
    }
    if (epoch < standing.epoch) {
      throw new ServiceError('OVERLOADED', 'This was begun before a restart of its actor; retry.');
    }
    if (standing.refused) {
      throw new ServiceError('OVERLOADED', 'An earlier change by the same actor failed; retry.');
    }
  }

  /** Notes that a commit of this activation was rejected. */
  refuse(actor: string, epoch: number): void {
    const standing = this.#standings.get(actor);
    if (standing === undefined || standing.epoch <= epoch)
      this.#set(actor, { epoch, refused: true });
  }

  /**
   * Lets an activation go on after a refusal that it heard of before it committed anything else.
   */
  forgive(actor: string, epoch: number): void {
    const standing = this.#standings.get(actor);
    if (standing?.epoch === epoch) standing.refused = false;
  }

  #set(actor: string, standing: Standing): void {
    this.#standings.delete(actor);
    this.#standings.set(actor, standing);
    if (this.#standings.size <= actorsMax) return;
    for (const silent of this.#standings.keys()) {
      this.#standings.delete(silent);
      break;
    }
  }
}
