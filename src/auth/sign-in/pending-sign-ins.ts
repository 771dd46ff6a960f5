/**
 * Owns sign-ins that gave the right password and wait for the second factor. They are kept in memory:
 * after a restart of the service the password has to be typed again.
 *
 * 1. A pending sign-in lives for five minutes and takes ten wrong codes. It ends when it leads to a
 *    session.
 * 2. It ends when its password is changed.
 * 3. Only its cookie holds its secret. That cookie opens nothing else.
 */
import { createHash, randomBytes } from 'node:crypto';
import type { Clock } from '../../lib/clock.ts';
import { ServiceError } from '../../lib/errors.ts';
import type { Checked } from './passwords.ts';
import { RecentMap } from '../../lib/recent-map.ts';
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

  /** Begins a pending sign-in; returns the `Set-Cookie` that carries it. */
  begin(checked: Checked, secure: boolean): string {
    const secret = randomBytes(32).toString('base64url');
    const key = keyOf(secret);
    const expiresAtMs = this.#clock.now() + pendingMaxAgeS * 1_000;
    this.#pending.set(key, { ...checked, key, expiresAtMs, wrong: 0 });
    const pair = `${pendingCookieName}=${secret}; Max-Age=${String(pendingMaxAgeS)}`;
    return withAttributes(pair, secure);
  }

  /** The pending sign-in of a request; UNAUTHENTICATED without one. */
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

  /** False when it had ended before. So of two requests that complete one sign-in, one does. */
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
