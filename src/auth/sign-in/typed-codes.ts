/**
 * Owns codes that people type: the one that sets up an instance from another machine, made at start and
 * printed once, and recovery codes, each good once instead of a code of the second factor.
 */
import { createHash, createHmac, randomBytes, timingSafeEqual } from 'node:crypto';

// Crockford's base 32: no letters that read like digits.
const alphabet = '0123456789abcdefghjkmnpqrstvwxyz';
const recoveryCodes = 10;

/** A code such as `k7dm-93xz-q1tw`: 60 bits, to be typed or to stand in an address. */
export function newSetupCode(): string {
  return newCode(12);
}

/** Compares in constant time. */
export function isSetupCode(given: string, right: string): boolean {
  const digest = (code: string): Buffer => createHash('sha256').update(bare(code)).digest();
  return timingSafeEqual(digest(given), digest(right));
}

/** Codes of 80 bits each. */
export function newRecoveryCodes(): string[] {
  return Array.from({ length: recoveryCodes }, () => newCode(16));
}

/**
 * What is stored of a recovery code: under a key of the instance, so that codes cannot be found by trying
 * with a leaked store alone. Letters that look like digits are read as those.
 */
export function recoveryHash(key: Buffer, userId: string, code: string): string {
  const plain = bare(code).replace(/o/g, '0').replace(/[il]/g, '1');
  return createHmac('sha256', key).update(`${userId}:${plain}`).digest('hex');
}

function newCode(length: number): string {
  const characters = [...randomBytes(length)].map((byte) => alphabet.charAt(byte & 31)).join('');
  return characters.replace(/.{4}(?=.)/g, '$&-');
}

/** Case, hyphens and spaces do not count. */
function bare(code: string): string {
  return code.slice(0, 100).toLowerCase().replace(/[\s-]/g, '');
}
