/**
 * Owns when sessions were last used: noted in memory on the hot path, written in batches.
 *
 * 1. A session's use is written at most every five minutes.
 * 2. What is lost by a crash is a few seconds of this note, nothing else.
 */
import { accountActor, directory } from '../actors/account/protocol.ts';
import type { Actors } from '../actors/runtime/contract.ts';
import type { Clock } from '../lib/clock.ts';
import { asServiceError } from '../lib/errors.ts';
import type { Logger } from '../lib/log.ts';

export interface UsedSession {
  sessionId: string;
  /** As stored, or as noted since. */
  seenAtMs: number;
}

const notedEveryMs = 5 * 60_000;
const writtenAfterMs = 5_000;
const pendingMax = 10_000;

export class SessionUses {
  readonly #actors: Actors;
  readonly #clock: Clock;
  readonly #log: Logger;
  readonly #pending = new Map<string, number>();
  #cancel: (() => void) | null = null;

  constructor(options: { actors: Actors; clock: Clock; log: Logger }) {
    this.#actors = options.actors;
    this.#clock = options.clock;
    this.#log = options.log;
  }

  note(session: UsedSession, now: number): void {
    if (now - session.seenAtMs < notedEveryMs) return;
    session.seenAtMs = now;
    if (this.#pending.size >= pendingMax) return;
    this.#pending.set(session.sessionId, now);
    this.#cancel ??= this.#clock.after(writtenAfterMs, () => {
      this.#write();
    });
  }

  close(): void {
    this.#cancel?.();
    this.#write();
  }

  #write(): void {
    this.#cancel = null;
    if (this.#pending.size === 0) return;
    const uses = [...this.#pending].map(([sessionId, atMs]) => ({ sessionId, atMs }));
    this.#pending.clear();
    try {
      this.#actors.tell(accountActor.at(directory), { type: 'sessions-seen', uses });
    } catch (thrown) {
      // A full mailbox: the next use of these sessions is noted again.
      this.#log.warn({ code: asServiceError(thrown).code }, 'session-uses-dropped');
    }
  }
}
