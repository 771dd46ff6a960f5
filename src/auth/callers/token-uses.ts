/**
 * Owns when tokens were last used: noted on the hot path, written late (see `LateBatch`), for one
 * token at most once a minute.
 */
import type { Actors } from '../../actors/runtime/actor.ts';
import { teamActor } from '../../actors/team/protocol.ts';
import type { Clock } from '../../lib/clock.ts';
import type { Logger } from '../../lib/log.ts';
import { LateBatch } from './write-behind.ts';

export interface UsedToken {
  tokenId: string;
  homeTeamId: string;
  /** As stored, or as noted since. */
  lastUsedAtMs: number;
}

const notedEveryMs = 60_000;

export class TokenUses {
  readonly #batch: LateBatch<{ teamId: string; atMs: number }>;

  constructor({ actors, clock, log }: { actors: Actors; clock: Clock; log: Logger }) {
    this.#batch = new LateBatch({
      clock,
      write: (notes) => {
        for (const [teamId, entries] of Map.groupBy(notes, ([, use]) => use.teamId)) {
          const uses = entries.map(([tokenId, { atMs }]) => ({ tokenId, atMs }));
          try {
            actors.tell(teamActor.at(teamId), { type: 'tokens-used', uses });
          } catch (thrown) {
            // A full mailbox: the next use of these tokens is noted again.
            log.warn({ teamId, err: thrown }, 'token_uses_dropped');
          }
        }
      },
    });
  }

  note(token: UsedToken, now: number): void {
    if (now - token.lastUsedAtMs < notedEveryMs) return;
    token.lastUsedAtMs = now;
    if (this.#batch.has(token.tokenId)) return;
    this.#batch.note(token.tokenId, { teamId: token.homeTeamId, atMs: now });
  }

  close(): void {
    this.#batch.close();
  }
}
