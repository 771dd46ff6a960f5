/**
 * Owns how many streams a person has open on all threads together, and how a thread closes a stream of
 * another one. A thread that ends, ends the process: nobody has to free its places.
 */
import {
  type CloseOutcome,
  OwnStreamRoom,
  type SharedStreams,
  type StreamRoom,
  type StreamToClose,
} from '../logs/viewers/stream-room.ts';
import type { Served } from './remote-door.ts';

export type StreamKind = 'logs' | 'graphql';

/** What a thread asks of the ledger. */
export interface StreamPlaces {
  /** Takes a place; false when the person has none left. */
  reserve(kind: StreamKind, userId: string): Promise<boolean>;
  /** Gives a place back. */
  release(kind: StreamKind, userId: string): void;
  /** Closes a stream of any thread but the asking one. */
  closeElsewhere(stream: StreamToClose): Promise<CloseOutcome>;
}

/** What the ledger asks of a thread. */
export interface ThreadStreams {
  close(stream: StreamToClose): Promise<CloseOutcome>;
}

/** What a thread has in place of rooms of its own. */
export function sharedRooms(places: StreamPlaces): { logs: SharedStreams; graphql: StreamRoom } {
  const roomOf = (kind: StreamKind): StreamRoom => ({
    reserve: (userId) => places.reserve(kind, userId),
    release: (userId) => places.release(kind, userId),
  });
  const close: SharedStreams['close'] = (stream) => places.closeElsewhere(stream);
  return { logs: { ...roomOf('logs'), close }, graphql: roomOf('graphql') };
}

export class StreamLedger {
  readonly #rooms: Readonly<Record<StreamKind, OwnStreamRoom>>;
  readonly #threads = new Set<ThreadStreams>();

  /** Streams of each kind that a person may have. */
  constructor(maxPerPerson: Readonly<Record<StreamKind, number>>) {
    const { logs, graphql } = maxPerPerson;
    this.#rooms = { logs: new OwnStreamRoom(logs), graphql: new OwnStreamRoom(graphql) };
  }

  /** Has a thread take part. */
  join(thread: ThreadStreams): Served<StreamPlaces> {
    this.#threads.add(thread);
    return {
      reserve: (kind, userId) => this.#rooms[kind].reserve(userId),
      release: (kind, userId) => this.#rooms[kind].release(userId),
      closeElsewhere: (stream) => this.#closeElsewhere(stream, thread),
    };
  }

  /** Asks all other threads; the one that knows the stream answers. */
  async #closeElsewhere(stream: StreamToClose, asking: ThreadStreams): Promise<CloseOutcome> {
    const others = [...this.#threads].filter((thread) => thread !== asking);
    const known = others.map(async (thread) => {
      const outcome = await thread.close(stream);
      if (outcome === 'gone') throw new Error('This thread does not know the stream.');
      return outcome;
    });
    try {
      return await Promise.any(known);
    } catch {
      // No thread knows it. A stream of a thread that is gone is gone, too.
      return 'gone';
    }
  }
}
