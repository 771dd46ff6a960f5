/**
 * Owns the tokens of installations, in memory alone.
 *
 * 1. A token is used until shortly before it ends, or is forgotten since something was refused with it.
 * 2. For one installation one request is under way at a time.
 */
import type { Clock } from '../../lib/clock.ts';
import { RecentMap } from '../../lib/recent-map.ts';
import type { InstallationToken } from './github-api.ts';

interface Kept {
  /** While it is asked for: forever. */
  untilMs: number;
  token: Promise<string>;
}

/** What begins with a token has so long to end with it. */
const marginMs = 5 * 60_000;
const connectionsMax = 1_000;

export class InstallationTokens {
  readonly #clock: Clock;
  readonly #kept = new RecentMap<Map<number, Kept>>(connectionsMax);

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  get(
    connectionId: string,
    installationId: number,
    ask: () => Promise<InstallationToken>,
  ): Promise<string> {
    const ofConnection = this.#kept.get(connectionId) ?? new Map<number, Kept>();
    this.#kept.set(connectionId, ofConnection);
    const known = ofConnection.get(installationId);
    if (known !== undefined && this.#clock.now() < known.untilMs) return known.token;
    const kept: Kept = {
      untilMs: Infinity,
      token: ask().then(({ token, expiresAtMs }) => {
        kept.untilMs = expiresAtMs - marginMs;
        return token;
      }),
    };
    ofConnection.set(installationId, kept);
    kept.token.catch(() => {
      if (ofConnection.get(installationId) === kept) ofConnection.delete(installationId);
    });
    return kept.token;
  }

  forget(connectionId: string): void {
    this.#kept.delete(connectionId);
  }
}
