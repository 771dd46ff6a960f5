/**
 * Owns what waits for its turn: one line for each key, and whose turn it is. Keys are served in
 * rounds, each for `quantum` of weight a round (deficit round robin with two lists, as in RFC 8290).
 *
 * 1. Within a key the order is kept. Nothing is lost and nothing comes twice.
 * 2. Keys that always have something waiting are served alike: over any time, what two of them were
 *    served differs by no more than two quanta and two entries, however much each has waiting.
 * 3. A key that had nothing waiting comes next, for one quantum; then it takes its place in the round.
 * 4. A step takes constant time, and a key is forgotten once it has had a turn with nothing waiting.
 */

export interface FairQueueOptions {
  /** Weight that a key is served in a round. */
  quantum: number;
}

interface Entry<T> {
  value: T;
  weight: number;
}

interface Line<T> {
  readonly key: string;
  readonly entries: Fifo<Entry<T>>;
  /** Weight that is left of its turn; below zero it is passed over until rounds have repaid it. */
  credit: number;
}

// What one entry counts at most: it bounds for how many rounds a key is passed over.
const quantaMax = 64;

export class FairQueue<T> {
  readonly #quantum: number;
  readonly #lines = new Map<string, Line<T>>();
  #fresh = new Fifo<Line<T>>();
  #steady = new Fifo<Line<T>>();
  #size = 0;

  constructor({ quantum }: FairQueueOptions) {
    this.#quantum = quantum;
  }

  /** How many entries wait. */
  get size(): number {
    return this.#size;
  }

  push(key: string, weight: number, value: T): void {
    let line = this.#lines.get(key);
    if (line === undefined) {
      line = { key, entries: new Fifo(), credit: this.#quantum };
      this.#lines.set(key, line);
      this.#fresh.push(line);
    }
    line.entries.push({ value, weight: this.#counted(weight) });
    this.#size++;
  }

  /** The entry whose turn it is. */
  take(): T | undefined {
    while (this.#size > 0) {
      const list = this.#fresh.size > 0 ? this.#fresh : this.#steady;
      const line = list.first;
      if (line === undefined) break;
      if (line.credit <= 0) {
        line.credit += this.#quantum;
        list.shift();
        this.#steady.push(line);
        continue;
      }
      const entry = line.entries.shift();
      if (entry === undefined) {
        list.shift();
        // Through the round once, or a key could be new again whenever it likes.
        if (list === this.#fresh) this.#steady.push(line);
        else this.#lines.delete(line.key);
        continue;
      }
      line.credit -= entry.weight;
      if (--this.#size === 0) this.#forget();
      return entry.value;
    }
    return undefined;
  }

  /** Corrects what a key was served: `weight` more than its entries said, or less. */
  charge(key: string, weight: number): void {
    const line = this.#lines.get(key);
    if (line === undefined) return;
    const credit = line.credit - weight;
    const floor = -quantaMax * this.#quantum;
    line.credit = Math.max(Math.min(credit, this.#quantum), floor);
  }

  /** Takes out whatever `unwanted` says of, in time linear in all that waits. */
  remove(unwanted: (value: T) => boolean): T[] {
    const removed: T[] = [];
    for (const line of this.#lines.values()) {
      line.entries.keep(({ value }) => {
        if (!unwanted(value)) return true;
        removed.push(value);
        return false;
      });
    }
    this.#size -= removed.length;
    if (this.#size === 0) this.#forget();
    return removed;
  }

  #counted(weight: number): number {
    return Math.min(Math.max(weight, 1), quantaMax * this.#quantum);
  }

  /** Nobody waits, so nobody has to be fair to anybody. */
  #forget(): void {
    this.#lines.clear();
    this.#fresh = new Fifo();
    this.#steady = new Fifo();
  }
}

/** An array that gives up its first entries in constant time. */
class Fifo<T> {
  #items: (T | undefined)[] = [];
  #head = 0;

  get size(): number {
    return this.#items.length - this.#head;
  }

  get first(): T | undefined {
    return this.#items[this.#head];
  }

  push(item: T): void {
    this.#items.push(item);
  }

  shift(): T | undefined {
    if (this.#head === this.#items.length) return undefined;
    const item = this.#items[this.#head];
    this.#items[this.#head++] = undefined;
    if (this.#head * 2 >= this.#items.length) {
      this.#items = this.#items.slice(this.#head);
      this.#head = 0;
    }
    return item;
  }

  keep(wanted: (item: T) => boolean): void {
    const rest = this.#items.slice(this.#head) as T[];
    this.#items = rest.filter(wanted);
    this.#head = 0;
  }
}
