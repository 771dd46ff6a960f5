/**
 * Owns the shared memory by which the writer and the threads that follow its journal tell each
 * other how far they are. Every follower has a seat in it.
 *
 *   0            1 + 2s                     2 + 2s
 *   published    read to, or -1 for nobody  1 while seat s was called and has not woken yet
 *
 * 1. An entry stays in the journal until every seated thread has read it. A thread that is farther
 *    behind than the bound loses what it has not read, and finds out.
 * 2. A thread is called once until it wakes, so that calls do not pile up at one that hangs.
 */

/** Threads that may follow at a time. */
export const seatsMax = 64;
const nobody = -1n;

const readAt = (seat: number): number => 1 + 2 * seat;
const calledAt = (seat: number): number => 2 + 2 * seat;

export class Followers {
  readonly shared = new SharedArrayBuffer(8 * (1 + 2 * seatsMax));
  readonly #cells = new BigInt64Array(this.shared);
  readonly #seated = new Set<number>();
  readonly #lagMax: number;

  /** `lagMax`: how many entries the journal keeps for threads that have not read them. */
  constructor(lagMax: number) {
    this.#lagMax = lagMax;
    this.#cells.fill(nobody, 1);
  }

  /** A seat for a thread that will have read up to `position` when it opens the store. */
  admit(position: number): number {
    let seat = 0;
    while (this.#seated.has(seat)) seat++;
    if (seat === seatsMax) {
      throw new Error(`Cannot follow the store: ${String(seatsMax)} threads do already.`);
    }
    this.#seated.add(seat);
    Atomics.store(this.#cells, readAt(seat), BigInt(position));
    Atomics.store(this.#cells, calledAt(seat), 0n);
    return seat;
  }

  /** Frees the seat of a thread that has ended. Twice is fine, until another thread is admitted. */
  dismiss(seat: number): void {
    if (this.#seated.delete(seat)) Atomics.store(this.#cells, readAt(seat), nobody);
  }

  /** How far the journal may be cut when `newest` is the last entry that readers know of. */
  readTo(newest: number): number {
    let least = newest;
    for (const seat of this.#seated) {
      const read = Atomics.load(this.#cells, readAt(seat));
      if (read !== nobody) least = Math.min(least, Number(read));
    }
    return Math.max(least, newest - this.#lagMax);
  }
}

/** One seat, for its follower and for the writer. */
export class Seat {
  readonly #cells: BigInt64Array;
  readonly #seat: number;

  constructor(shared: SharedArrayBuffer, seat: number) {
    this.#cells = new BigInt64Array(shared);
    this.#seat = seat;
  }

  /** The thread has read all entries up to this one. */
  read(position: number): void {
    Atomics.store(this.#cells, readAt(this.#seat), BigInt(position));
  }

  /** The thread reads no further: nothing is kept for it. */
  leave(): void {
    Atomics.store(this.#cells, readAt(this.#seat), nobody);
  }

  /**
   * For the writer: whether the follower has to be called. It has not while an earlier call is
   * open.
   */
  call(): boolean {
    return Atomics.exchange(this.#cells, calledAt(this.#seat), 1n) === 0n;
  }

  /** The follower heard the call. The next entry calls it anew. */
  wake(): void {
    Atomics.store(this.#cells, calledAt(this.#seat), 0n);
  }
}
