/**
 * Owns how many streams a person has open, on one thread or on several.
 *
 * 1. A person never has more than the bound of their kind, over all threads together.
 * 2. What a thread that is gone had open is open no more.
 */
import type { Asking, Handling } from '../../lib/port-calls.ts';

export type StreamKind = 'logs' | 'graphql';

export interface StreamRoom {
  /** Takes a place; false when the person has all of theirs. A promise where another thread says so. */
  reserve(userId: string): boolean | Promise<boolean>;
  /** Gives a place back. */
  release(userId: string): void;
}

/** What became of a stream that was to be closed; `gone`: there is none of this id. */
export type CloseOutcome = 'closed' | 'gone' | 'foreign';

export interface StreamToClose {
  sessionId: string;
  /** Who wants it closed. */
  userId: string;
}

/** The places that all threads share, and the way to streams of other threads. */
export interface SharedStreams extends StreamRoom {
  /** Closes a stream of another thread. */
  close(stream: StreamToClose): Promise<CloseOutcome>;
}

interface StreamPlace {
  kind: StreamKind;
  userId: string;
}

/** Calls to the thread that keeps the ledger. */
export type StreamCalls = {
  'streams.reserve': { in: StreamPlace; out: boolean };
  'streams.release': { in: StreamPlace; out: unknown };
  /** Closes a stream of any thread but the asking one. */
  'streams.close': { in: StreamToClose; out: CloseOutcome };
};

/** Calls to the threads that have the streams. */
export type StreamThreadCalls = {
  'streams.close-here': { in: StreamToClose; out: CloseOutcome };
};

/** Places of one thread. */
export class OwnStreamRoom implements StreamRoom {
  readonly #max: number;
  readonly #taken = new Map<string, number>();

  constructor(max: number) {
    this.#max = max;
  }

  reserve(userId: string): boolean {
    const taken = this.#taken.get(userId) ?? 0;
    if (taken >= this.#max) return false;
    this.#taken.set(userId, taken + 1);
    return true;
  }

  release(userId: string, count = 1): void {
    const left = (this.#taken.get(userId) ?? 0) - count;
    if (left > 0) this.#taken.set(userId, left);
    else this.#taken.delete(userId);
  }
}

/** Places that are counted in the ledger of another thread. */
export class RemotePlaces implements StreamRoom {
  readonly #home: Asking<StreamCalls>;
  readonly #kind: StreamKind;

  constructor(home: Asking<StreamCalls>, kind: StreamKind) {
    this.#home = home;
    this.#kind = kind;
  }

  reserve(userId: string): Promise<boolean> {
    return this.#home.ask('streams.reserve', { kind: this.#kind, userId });
  }

  release(userId: string): void {
    this.#home.tell('streams.release', { kind: this.#kind, userId });
  }
}

/** What all threads share of log streams, by way of the thread that keeps the ledger. */
export class RemoteStreamRoom extends RemotePlaces implements SharedStreams {
  readonly #home: Asking<StreamCalls>;

  constructor(home: Asking<StreamCalls>) {
    super(home, 'logs');
    this.#home = home;
  }

  close(stream: StreamToClose): Promise<CloseOutcome> {
    return this.#home.ask('streams.close', stream);
  }
}

/** Closes streams of this thread that were asked of another one. Once for a port. */
export function answerStreams(
  home: Handling<StreamThreadCalls>,
  sessions: { close(sessionId: string, userId: string): CloseOutcome },
): void {
  home.handle('streams.close-here', ({ sessionId, userId }) => sessions.close(sessionId, userId));
}

type ThreadPort = Handling<StreamCalls> & Asking<StreamThreadCalls>;

/** The places of all threads. */
export class StreamLedger {
  readonly #rooms: Readonly<Record<StreamKind, OwnStreamRoom>>;
  readonly #threads = new Set<ThreadPort>();

  /** Streams of each kind that a person may have. */
  constructor(maxPerPerson: Readonly<Record<StreamKind, number>>) {
    const { logs, graphql } = maxPerPerson;
    this.#rooms = { logs: new OwnStreamRoom(logs), graphql: new OwnStreamRoom(graphql) };
  }

  /** A thread takes part until its port closes. Once for a port. */
  join(thread: ThreadPort): void {
    const held = {
      logs: new HeldPlaces(this.#rooms.logs),
      graphql: new HeldPlaces(this.#rooms.graphql),
    };
    this.#threads.add(thread);
    thread.handle('streams.reserve', ({ kind, userId }) => held[kind].reserve(userId));
    thread.handle('streams.release', ({ kind, userId }) => {
      held[kind].release(userId);
    });
    thread.handle('streams.close', (stream) => this.#closeElsewhere(stream, thread));
    thread.onClose(() => {
      this.#threads.delete(thread);
      held.logs.releaseAll();
      held.graphql.releaseAll();
    });
  }

  /** The first thread that knows the stream says what became of it. */
  async #closeElsewhere(stream: StreamToClose, asking: ThreadPort): Promise<CloseOutcome> {
    const others = [...this.#threads].filter((thread) => thread !== asking);
    const known = others.map(async (thread) => {
      const outcome = await thread.ask('streams.close-here', stream);
      if (outcome === 'gone') throw new Error('This thread does not know the stream.');
      return outcome;
    });
    try {
      return await Promise.any(known);
    } catch {
      // None knows it; what a thread had that is gone is gone, too.
      return 'gone';
    }
  }
}

/** What one thread holds of a room. */
class HeldPlaces {
  readonly #room: OwnStreamRoom;
  readonly #held = new Map<string, number>();

  constructor(room: OwnStreamRoom) {
    this.#room = room;
  }

  reserve(userId: string): boolean {
    if (!this.#room.reserve(userId)) return false;
    this.#held.set(userId, (this.#held.get(userId) ?? 0) + 1);
    return true;
  }

  release(userId: string): void {
    const count = this.#held.get(userId);
    if (count === undefined) return;
    if (count === 1) this.#held.delete(userId);
    else this.#held.set(userId, count - 1);
    this.#room.release(userId);
  }

  releaseAll(): void {
    for (const [userId, count] of this.#held) this.#room.release(userId, count);
    this.#held.clear();
  }
}
