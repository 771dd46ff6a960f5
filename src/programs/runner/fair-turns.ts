/**
 * Owns how much of workloads' output is taken at a time. Taking it shares the loop with the edge, so that a
 * program that only writes would stop everybody's visitors.
 *
 * 1. A taker has `each` of a turn, all takers together have `all`. What is left waits for a later turn.
 * 2. Those that wait are served in turn: whoever was served stands behind the others.
 * 3. The next turn begins `turnMs` after one in which anything was taken: output alone never holds the loop.
 * 4. A taker that fails holds up no other.
 */
import type { Clock } from '../../lib/clock.ts';
import type { Logger } from '../../lib/log.ts';

export interface Room {
  lines: number;
  bytes: number;
}

export interface Taker {
  /** Takes what it has within `room`, and takes that off. Returns whether anything is left. */
  take(room: Room): boolean;
}

const turnMs = 1;
/**
 * A line costs the same whether or not it holds anything, here and for whoever stores it: about what 64 bytes do,
 * which go to the disk, twice. That is 16 MiB or a quarter of a million lines a second.
 */
const each: Room = { lines: 256, bytes: 16 * 1024 };
const all: Room = { lines: 1024, bytes: 64 * 1024 };

export class FairTurns {
  readonly #clock: Clock;
  readonly #logger: Logger;
  /** The one to be served next is the first. */
  readonly #waiting = new Set<Taker>();
  /** What is left of the turn to those that were served in it. */
  readonly #rooms = new Map<Taker, Room>();
  #left = { ...all };
  #isUnderWay = false;

  constructor(clock: Clock, logger: Logger) {
    this.#clock = clock;
    this.#logger = logger;
  }

  /** Lets it take at once what this turn has room for, and the rest in later turns. */
  offer(taker: Taker): void {
    const own = this.#rooms.get(taker) ?? { ...each };
    const given = {
      lines: Math.min(own.lines, this.#left.lines),
      bytes: Math.min(own.bytes, this.#left.bytes),
    };
    const room = { ...given };
    const isLeft = !hasRoom(room) || this.#letTake(taker, room);
    for (const kind of ['lines', 'bytes'] as const) {
      own[kind] -= given[kind] - room[kind];
      this.#left[kind] -= given[kind] - room[kind];
    }
    this.#rooms.set(taker, own);
    // One that was served goes to the end; one that there was no room for keeps its place.
    if (!isLeft || hasRoom(given)) this.#waiting.delete(taker);
    if (isLeft) this.#waiting.add(taker);
    this.#begin();
  }

  #letTake(taker: Taker, room: Room): boolean {
    try {
      return taker.take(room);
    } catch (error) {
      this.#logger.error({ err: error }, 'output_not_taken');
      return false;
    }
  }

  #begin(): void {
    if (this.#isUnderWay) return;
    this.#isUnderWay = true;
    this.#clock.after(turnMs, () => this.#next());
  }

  #next(): void {
    this.#isUnderWay = false;
    this.#rooms.clear();
    this.#left = { ...all };
    for (const taker of [...this.#waiting]) {
      if (!hasRoom(this.#left)) break;
      this.offer(taker);
    }
    // Those that no room was left for come first in the turn after this one.
    if (this.#waiting.size > 0) this.#begin();
  }
}

function hasRoom({ lines, bytes }: Room): boolean {
  return lines > 0 && bytes > 0;
}
