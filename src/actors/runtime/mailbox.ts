/**
 * Owns the messages that wait for an actor: first in, first out, bounded.
 *
 * 1. `push` refuses beyond the bound and never drops what was taken in.
 * 2. Taking and adding cost the same whatever waits.
 */

export class Mailbox<M> {
  readonly #max: number;
  #items: (M | undefined)[] = [];
  #head = 0;

  constructor(max: number) {
    this.#max = max;
  }

  get size(): number {
    return this.#items.length - this.#head;
  }

  /** False when the mailbox is full. */
  push(message: M): boolean {
    if (this.size >= this.#max) return false;
    this.#items.push(message);
    return true;
  }

  shift(): M | undefined {
    if (this.size === 0) return undefined;
    const message = this.#items[this.#head];
    this.#items[this.#head] = undefined;
    this.#head += 1;
    if (this.#head > 64 && this.#head * 2 > this.#items.length) {
      this.#items = this.#items.slice(this.#head);
      this.#head = 0;
    }
    return message;
  }
}
