/**
 * Owns how many streams a person has open, on one thread or on several.
 *
 * 1. A person never has more than the bound, over all threads together.
 * 2. What a thread that is gone had open is open no more.
 */
import type { Asking, Handling } from '../../lib/port-calls.ts';

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

/** Calls to the thread that keeps the ledger. */
export type StreamCalls = {
  'streams.reserve': { in: string; out: boolean };
  'streams.release': { in: string; out: unknown };
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

/** What all threads share, by way of the thread that keeps the ledger. */
export class RemoteStreams implements SharedStreams {
  readonly #home: Asking<StreamCalls>;

  constructor(home: Asking<StreamCalls>) {
    this.#home = home;
  }

  reserve(userId: string): Promise<boolean> {
    return this.#home.ask('streams.reserve', userId);
  }

  release(userId: string): void {
    this.#home.tell('streams.release', userId);
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
  readonly #room: OwnStreamRoom;
  readonly #threads = new Set<ThreadPort>();

  constructor(maxPerPerson: number) {
    this.#room = new OwnStreamRoom(maxPerPerson);
  }

  /** A thread takes part until its port closes. Once for a port. */
  join(thread: ThreadPort): void {
    const held = new Map<string, number>();
    this.#threads.add(thread);
    thread.handle('streams.reserve', (userId) => {
      if (!this.#room.reserve(userId)) return false;
      held.set(userId, (held.get(userId) ?? 0) + 1);
      return true;
    });
    thread.handle('streams.release', (userId) => {
      const count = held.get(userId);
      if (count === undefined) return;
      if (count === 1) held.delete(userId);
      else held.set(userId, count - 1);
      this.#room.release(userId);
    });
    thread.handle('streams.close', (stream) => this.#closeElsewhere(stream, thread));
    thread.onClose(() => {
      this.#threads.delete(thread);
      for (const [userId, count] of held) this.#room.release(userId, count);
      held.clear();
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
