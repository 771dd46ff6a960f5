/** Owns how many streams of a kind a person has open. */
import { OwnTally } from '../../lib/tally.ts';

export interface StreamRoom {
  /** Takes a place; false when the person has no place left. A promise where another thread decides. */
  reserve(userId: string): boolean | Promise<boolean>;
  /** Gives a place back. */
  release(userId: string): void;
}

/** What became of a stream that was to be closed; `gone`: there is no stream with this id. */
export type CloseOutcome = 'closed' | 'gone' | 'foreign';

export interface StreamToClose {
  sessionId: string;
  /** Who wants it closed. */
  userId: string;
}

/** The places that all threads share, and how streams of other threads are closed. */
export interface SharedStreams extends StreamRoom {
  /** Closes a stream of another thread. */
  close(stream: StreamToClose): Promise<CloseOutcome>;
}

/** Places of one thread. */
export class OwnStreamRoom implements StreamRoom {
  readonly #max: number;
  readonly #taken = new OwnTally();

  constructor(max: number) {
    this.#max = max;
  }

  reserve(userId: string): boolean {
    if (this.#taken.count(userId) >= this.#max) return false;
    this.#taken.add(userId);
    return true;
  }

  release(userId: string): void {
    this.#taken.remove(userId);
  }
}
