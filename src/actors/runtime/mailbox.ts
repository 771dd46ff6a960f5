/**
 * Owns the messages that wait for an actor: first in, first out, bounded.
 *
 * 1. `push` refuses beyond the bound and never drops what was taken in. A report of the actor's own
 *    work is always taken in: the work that may report is bounded by itself.
 * 2. Taking and adding cost the same whatever waits.
 */
import type { ServiceError } from '../../lib/errors.ts';
import type { Cause } from './actor.ts';

export interface Envelope {
  message: { type: string };
  /** Set once it was answered, also by its deadline: a message not begun by then is skipped. */
  answered: boolean;
  resolve: (reply: unknown) => void;
  reject: (error: ServiceError) => void;
  /** Name and time of the alarm that sent it. */
  alarm?: { name: string; atMs: number };
  cause?: Cause;
  /** Of a report of the actor's own work: what it changes, instead of a handler. */
  report?: () => unknown;
}

export class Mailbox {
  readonly #max: number;
  #items: (Envelope | undefined)[] = [];
  #head = 0;

  constructor(max: number) {
    this.#max = max;
  }

  get size(): number {
    return this.#items.length - this.#head;
  }

  /** False when the mailbox is full. */
  push(envelope: Envelope): boolean {
    if (this.size >= this.#max && envelope.report === undefined) return false;
    this.#items.push(envelope);
    return true;
  }

  shift(): Envelope | undefined {
    if (this.size === 0) return undefined;
    const envelope = this.#items[this.#head];
    this.#items[this.#head] = undefined;
    this.#head += 1;
    if (this.#head > 64 && this.#head * 2 > this.#items.length) {
      this.#items = this.#items.slice(this.#head);
      this.#head = 0;
    }
    return envelope;
  }
}
