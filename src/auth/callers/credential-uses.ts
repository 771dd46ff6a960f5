/**
 * Owns when sessions and tokens were last used. A use is noted on the hot path, for a session once in
 * five minutes and for a token once a minute. A few seconds later all notes are written together.
 *
 * 1. At most `pendingMax` notes of a kind wait; further ones are dropped.
 * 2. A crash loses a few seconds of notes, and nothing else.
 */
import { accountActor, directory } from '../../actors/account/protocol.ts';
import type { Actors } from '../../actors/runtime/actor.ts';
import { teamActor } from '../../actors/team/protocol.ts';
import type { Clock } from '../../lib/clock.ts';
import type { Logger } from '../../lib/log.ts';

export interface UsedSession {
  sessionId: string;
  /** As stored, or as noted since. */
  seenAtMs: number;
}

export interface UsedToken {
  tokenId: string;
  homeTeamId: string;
  /** As stored, or as noted since. */
  lastUsedAtMs: number;
}

const sessionEveryMs = 5 * 60_000;
const tokenEveryMs = 60_000;
const writtenAfterMs = 5_000;
const pendingMax = 10_000;

export class CredentialUses {
  readonly #options: { actors: Actors; clock: Clock; log: Logger };
  readonly #sessions = new Map<string, number>();
  readonly #tokens = new Map<string, { teamId: string; atMs: number }>();
  #cancel: (() => void) | null = null;

  constructor(options: { actors: Actors; clock: Clock; log: Logger }) {
    this.#options = options;
  }

  noteSession(session: UsedSession, now: number): void {
    if (now - session.seenAtMs < sessionEveryMs) return;
    session.seenAtMs = now;
    if (this.#sessions.size < pendingMax) this.#sessions.set(session.sessionId, now);
    this.#writeLater();
  }

  noteToken(token: UsedToken, now: number): void {
    if (now - token.lastUsedAtMs < tokenEveryMs) return;
    token.lastUsedAtMs = now;
    const use = { teamId: token.homeTeamId, atMs: now };
    if (this.#tokens.size < pendingMax) this.#tokens.set(token.tokenId, use);
    this.#writeLater();
  }

  /** Writes what waits. */
  close(): void {
    this.#cancel?.();
    this.#write();
  }

  #writeLater(): void {
    this.#cancel ??= this.#options.clock.after(writtenAfterMs, () => this.#write());
  }

  #write(): void {
    const { actors } = this.#options;
    this.#cancel = null;
    const sessions = [...this.#sessions].map(([sessionId, atMs]) => ({ sessionId, atMs }));
    this.#sessions.clear();
    if (sessions.length > 0) {
      this.#tell(() =>
        actors.tell(accountActor.at(directory), { type: 'sessions-seen', uses: sessions }),
      );
    }
    const byTeam = Map.groupBy([...this.#tokens], ([, { teamId }]) => teamId);
    this.#tokens.clear();
    for (const [teamId, tokens] of byTeam) {
      const uses = tokens.map(([tokenId, { atMs }]) => ({ tokenId, atMs }));
      this.#tell(() => actors.tell(teamActor.at(teamId), { type: 'tokens-used', uses }));
    }
  }

  #tell(tell: () => void): void {
    try {
      tell();
    } catch (thrown) {
      // A full mailbox: the next use of these sessions or tokens is noted again.
      this.#options.log.warn({ err: thrown }, 'credential_uses_dropped');
    }
  }
}
