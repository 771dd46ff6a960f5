/**
 * Owns when tokens were last used: noted in memory on the hot path, written in batches.
 *
 * 1. A token's use is written at most once a minute.
 * 2. What is lost by a crash is a few seconds of this note, nothing else.
 */
import type { Actors } from '../actors/runtime/contract.ts';
import { teamActor } from '../actors/team/protocol.ts';
import type { Clock } from '../lib/clock.ts';
import { asServiceError } from '../lib/errors.ts';
import type { Logger } from '../lib/log.ts';

export interface UsedToken {
  tokenId: string;
  homeTeamId: string;
  /** As stored, or as noted since. */
  lastUsedAtMs: number;
}

const notedEveryMs = 60_000;
const writtenAfterMs = 5_000;
const pendingMax = 10_000;

export class TokenUses {
  readonly #actors: Actors;
  readonly #clock: Clock;
  readonly #log: Logger;
  readonly #pending = new Map<string, { teamId: string; atMs: number }>();
  #cancel: (() => void) | null = null;

  constructor(options: { actors: Actors; clock: Clock; log: Logger }) {
    this.#actors = options.actors;
    this.#clock = options.clock;
    this.#log = options.log;
  }

  note(token: UsedToken, now: number): void {
    if (now - token.lastUsedAtMs < notedEveryMs) return;
    token.lastUsedAtMs = now;
    if (this.#pending.size >= pendingMax || this.#pending.has(token.tokenId)) return;
    this.#pending.set(token.tokenId, { teamId: token.homeTeamId, atMs: now });
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
    const byTeam = Map.groupBy(this.#pending, ([, use]) => use.teamId);
    this.#pending.clear();
    for (const [teamId, entries] of byTeam) {
      const uses = entries.map(([tokenId, { atMs }]) => ({ tokenId, atMs }));
      try {
        this.#actors.tell(teamActor.at(teamId), { type: 'tokens-used', uses });
      } catch (thrown) {
        // A full mailbox: the next use of these tokens is noted again.
        this.#log.warn({ teamId, code: asServiceError(thrown).code }, 'token-uses-dropped');
      }
    }
  }
}
