/**
 * Owns recovery codes: ten, each good once instead of a code of the second factor. The store has hashes
 * under a key of the instance, so that codes cannot be found by trying with a leaked store alone.
 */
import { createHmac, randomBytes } from 'node:crypto';

const count = 10;
// Crockford's base 32: no letters that read like digits.
const alphabet = '0123456789abcdefghjkmnpqrstvwxyz';
const length = 16;

/** Codes such as `k7dm-93xz-q1tw-0vbn`: 80 bits each. */
export function newRecoveryCodes(): string[] {
  return Array.from({ length: count }, () =>
    [...randomBytes(length)]
      .map((byte) => alphabet.charAt(byte & 31))
      .join('')
      .replace(/.{4}(?=.)/g, '$&-'),
  );
}

/** Case, hyphens and spaces do not count, and letters that look like digits are read as those. */
export function recoveryHash(key: Buffer, userId: string, code: string): string {
  const plain = code
    .slice(0, 100)
    .toLowerCase()
    .replace(/[\s-]/g, '')
    .replace(/o/g, '0')
    .replace(/[il]/g, '1');
  return createHmac('sha256', key).update(`${userId}:${plain}`).digest('hex');
}
