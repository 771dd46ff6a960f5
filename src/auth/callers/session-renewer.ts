/**
 * Owns the renewal of sessions: one that is used a day after its last renewal lives for another seven
 * days from then on. The caller's cookie keeps its value and gets a new age.
 */
import { accountActor, directory } from '../../actors/account/protocol.ts';
import type { Actors } from '../../actors/runtime/actor.ts';
import type { Clock } from '../../lib/clock.ts';
import type { Logger } from '../../lib/log.ts';
import { sessionMaxAgeS } from './session-cookie.ts';

export const sessionLengthMs = sessionMaxAgeS * 1_000;
export const renewedAfterMs = 24 * 60 * 60 * 1_000;

export interface RenewableSession {
  sessionId: string;
  /** As stored, or as renewed since. */
  updatedAtMs: number;
}

export class SessionRenewer {
  readonly #actors: Actors;
  readonly #clock: Clock;
  readonly #log: Logger;

  constructor(options: { actors: Actors; clock: Clock; log: Logger }) {
    this.#actors = options.actors;
    this.#clock = options.clock;
    this.#log = options.log;
  }

  /** Whether the cookie has to be sent anew. If so, the session is renewed, too. */
  due(session: RenewableSession): boolean {
    const now = this.#clock.now();
    if (now - session.updatedAtMs < renewedAfterMs) return false;
    const { sessionId } = session;
    const expiresAtMs = now + sessionLengthMs;
    try {
      const message = { type: 'session-renew', sessionId, atMs: now, expiresAtMs } as const;
      this.#actors.tell(accountActor.at(directory), message);
    } catch (thrown) {
      this.#log.warn({ sessionId, err: thrown }, 'session_renewal_dropped');
      return false;
    }
    session.updatedAtMs = now;
    return true;
  }
}
