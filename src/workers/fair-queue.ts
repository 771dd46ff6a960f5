/**
 * Owns a waiting line for each key, and whose turn it is. Keys are served in rounds, each for `quantum` of
 * weight a round (deficit round robin).
 *
 * 1. Within a key the order is kept. Nothing is lost and nothing comes twice.
 * 2. Keys that always have entries waiting are served alike: over any time, the weights served to two of
 *    them differ by at most two quanta and two entries, however much each has waiting.
 * 3. A key that had nothing waiting waits for at most one turn of each other key.
 * 4. A key is forgotten after a turn in which it had nothing waiting.
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
  entries: Entry<T>[];
  /** The weight left of the key's turn. Below zero the key is passed over until rounds have repaid it. */
  credit: number;
}

// The most that one entry counts, in quanta: it limits for how many rounds a key is passed over.
const quantaMax = 64;

export class FairQueue<T> {
  readonly #quantum: number;
  /** In the order of their turns. */
  readonly #lines = new Map<string, Line<T>>();
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
      line = { entries: [], credit: this.#quantum };
      this.#lines.set(key, line);
    }
    const counted = Math.min(Math.max(weight, 1), quantaMax * this.#quantum);
    line.entries.push({ value, weight: counted });
    this.#size++;
  }

  /** The entry whose turn it is. */
  take(): T | undefined {
    while (this.#size > 0) {
      const [next] = this.#lines;
      if (next === undefined) break;
      const [key, line] = next;
      if (line.credit > 0) {
        const entry = line.entries.shift();
        if (entry !== undefined) {
          line.credit -= entry.weight;
          this.#size--;
          this.#forgetIdle();
          return entry.value;
        }
        this.#lines.delete(key);
        continue;
      }
      line.credit += this.#quantum;
      this.#lines.delete(key);
      this.#lines.set(key, line);
    }
    return undefined;
  }

  /** Corrects the weight that a key was served: `weight` more than its entries said, or less. */
  charge(key: string, weight: number): void {
    const line = this.#lines.get(key);
    if (line === undefined) return;
    const credit = Math.min(line.credit - weight, this.#quantum);
    line.credit = Math.max(credit, -quantaMax * this.#quantum);
  }

  /** Removes every entry that `unwanted` names, in time linear in all that waits. */
  remove(unwanted: (value: T) => boolean): T[] {
    const removed: T[] = [];
    for (const line of this.#lines.values()) {
      line.entries = line.entries.filter(({ value }) => {
        if (!unwanted(value)) return true;
        removed.push(value);
        return false;
      });
    }
    this.#size -= removed.length;
    this.#forgetIdle();
    return removed;
  }

  /** With nothing waiting, fairness needs no memory. */
  #forgetIdle(): void {
    if (this.#size === 0) this.#lines.clear();
  }
}
