/** Owns the secrets of sign-in that are made here: the cookies' key and the setup code. */
import { createHash, hkdfSync, randomBytes, timingSafeEqual } from 'node:crypto';

// No letters that read like digits; see Crockford's base 32.
const alphabet = '0123456789abcdefghjkmnpqrstvwxyz';

/** What session cookies are signed with, out of a key that is for nothing else. */
export function sessionSecret(key: Uint8Array): string {
  const derived = hkdfSync('sha256', key, 'gangway', 'session cookies', 32);
  return Buffer.from(derived).toString('base64url');
}

/** A code such as `k7dm-93xz-q1tw`: 60 bits, to be typed or to stand in an address. */
export function newSetupCode(): string {
  const characters = [...randomBytes(12)].map((byte) => alphabet.charAt(byte & 31)).join('');
  return characters.replace(/.{4}(?=.)/g, '$&-');
}

/** Compares in constant time what a person typed; case, hyphens and spaces do not count. */
export function isSetupCode(given: string, right: string): boolean {
  const digest = (code: string): Buffer =>
    createHash('sha256').update(code.slice(0, 100).toLowerCase().replace(/[\s-]/g, '')).digest();
  return timingSafeEqual(digest(given), digest(right));
}
