/**
 * Owns the states of connections to GitHub that somebody has begun, in memory alone: what GitHub sends back
 * counts only for who asked for it.
 *
 * 1. A state is bound to a session, counts once, and ends after ten minutes.
 * 2. So many wait at a time; the oldest go first.
 */
import { randomBytes } from 'node:crypto';
import type { Clock } from '../../lib/clock.ts';

interface Pending {
  sessionId: string;
  teamId: string;
  endsAtMs: number;
}

const lifeMs = 10 * 60_000;
const pendingMax = 10_000;

export class PendingConnects {
  readonly #clock: Clock;
  // In the order in which they end.
  readonly #pending = new Map<string, Pending>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** The state by which the team is found again. */
  begin(sessionId: string, teamId: string): string {
    this.#makeRoom();
    const state = randomBytes(32).toString('base64url');
    this.#pending.set(state, { sessionId, teamId, endsAtMs: this.#clock.now() + lifeMs });
    return state;
  }

  /** The team; null for a state that is over, and for one of another session, which it stays. */
  take(state: string, sessionId: string): string | null {
    const pending = this.#pending.get(state);
    if (pending?.sessionId !== sessionId) return null;
    this.#pending.delete(state);
    return this.#clock.now() < pending.endsAtMs ? pending.teamId : null;
  }

  #makeRoom(): void {
    for (const [state, { endsAtMs }] of this.#pending) {
      if (this.#clock.now() < endsAtMs && this.#pending.size < pendingMax) return;
      this.#pending.delete(state);
    }
  }
}
