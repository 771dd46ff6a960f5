/**
 * Owns sign-ins that gave the right password and wait for the second factor, in memory: who waits
 * when the service restarts types the password again.
 *
 * 1. One lives for five minutes, hears ten wrong codes, and is gone once it led to a session.
 * 2. It ends with the password it was begun with.
 * 3. Its secret is known to its cookie alone; that cookie opens nothing else.
 */
import { createHash, randomBytes } from 'node:crypto';
import type { Clock } from '../../lib/clock.ts';
import { ServiceError } from '../../lib/errors.ts';
import type { Checked } from './passwords.ts';
import { RecentMap } from '../callers/recency-map.ts';
import { soleCookie, withAttributes } from '../callers/session-cookie.ts';

export const pendingCookieName = 'service.two_factor';
export const pendingMaxAgeS = 5 * 60;

const wrongMax = 10;
const pendingMax = 10_000;

export interface PendingSignIn extends Checked {
  readonly key: string;
  readonly expiresAtMs: number;
  /** Wrong codes so far. */
  wrong: number;
}

export class PendingSignIns {
  readonly #clock: Clock;
  readonly #pending = new RecentMap<PendingSignIn>(pendingMax);

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Begins one; the `Set-Cookie` that carries it. */
  begin(checked: Checked, secure: boolean): string {
    const secret = randomBytes(32).toString('base64url');
    const key = keyOf(secret);
    const expiresAtMs = this.#clock.now() + pendingMaxAgeS * 1_000;
    this.#pending.set(key, { ...checked, key, expiresAtMs, wrong: 0 });
    const pair = `${pendingCookieName}=${secret}; Max-Age=${String(pendingMaxAgeS)}`;
    return withAttributes(pair, secure);
  }

  /** The one a request carries; UNAUTHENTICATED without a live one. */
  of(cookieHeader: string): PendingSignIn {
    const secret = soleCookie(cookieHeader, pendingCookieName);
    const pending = secret === '' ? undefined : this.#pending.get(keyOf(secret));
    if (!pending || pending.expiresAtMs <= this.#clock.now()) {
      throw new ServiceError('UNAUTHENTICATED', 'Sign in with your password first.');
    }
    return pending;
  }

  /** Counts a wrong code; the last one ends the sign-in. */
  failed(pending: PendingSignIn): void {
    pending.wrong += 1;
    if (pending.wrong >= wrongMax) this.end(pending);
  }

  /** False when it had ended before: of two that complete one sign-in, one does. */
  end(pending: PendingSignIn): boolean {
    if (this.#pending.get(pending.key) !== pending) return false;
    this.#pending.delete(pending.key);
    return true;
  }
}

/** A `Set-Cookie` that removes the cookie of a pending sign-in. */
export function clearPendingCookie(secure: boolean): string {
  return withAttributes(`${pendingCookieName}=; Max-Age=0`, secure);
}

function keyOf(secret: string): string {
  return createHash('sha256').update(secret).digest('base64url');
}
