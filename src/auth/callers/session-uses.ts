/**
 * Owns when sessions were last used: noted on the hot path, written late (see `LateBatch`), for one
 * session at most every five minutes.
 */
import { accountActor, directory } from '../../actors/account/protocol.ts';
import type { Actors } from '../../actors/runtime/actor.ts';
import type { Clock } from '../../lib/clock.ts';
import type { Logger } from '../../lib/log.ts';
import { LateBatch } from './write-behind.ts';

export interface UsedSession {
  sessionId: string;
  /** As stored, or as noted since. */
  seenAtMs: number;
}

const notedEveryMs = 5 * 60_000;

export class SessionUses {
  readonly #batch: LateBatch<number>;

  constructor({ actors, clock, log }: { actors: Actors; clock: Clock; log: Logger }) {
    this.#batch = new LateBatch({
      clock,
      write: (notes) => {
        const uses = notes.map(([sessionId, atMs]) => ({ sessionId, atMs }));
        try {
          actors.tell(accountActor.at(directory), { type: 'sessions-seen', uses });
        } catch (thrown) {
          // A full mailbox: the next use of these sessions is noted again.
          log.warn({ err: thrown }, 'session_uses_dropped');
        }
      },
    });
  }

  note(session: UsedSession, now: number): void {
    if (now - session.seenAtMs < notedEveryMs) return;
    session.seenAtMs = now;
    this.#batch.note(session.sessionId, now);
  }

  close(): void {
    this.#batch.close();
  }
}
