/**
 * Owns the code that is needed to set up an instance from another machine. It is made at start and
 * printed once.
 */
import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';

// No letters that read like digits; see Crockford's base 32.
const alphabet = '0123456789abcdefghjkmnpqrstvwxyz';

/** A code such as `k7dm-93xz-q1tw`: 60 bits, to be typed or to stand in an address. */
export function newSetupCode(): string {
  const characters = [...randomBytes(12)].map((byte) => alphabet.charAt(byte & 31)).join('');
  return characters.replace(/.{4}(?=.)/g, '$&-');
}

/** Compares what a person typed in constant time. Case, hyphens and spaces do not count. */
export function isSetupCode(given: string, right: string): boolean {
  const digest = (code: string): Buffer =>
    createHash('sha256').update(code.slice(0, 100).toLowerCase().replace(/[\s-]/g, '')).digest();
  return timingSafeEqual(digest(given), digest(right));
}
