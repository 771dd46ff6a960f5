/**
 * Owns identifiers: opaque prefixed strings that sort by the millisecond of their making.
 * An id says nothing but its kind and its time; 80 random bits stand behind it.
 */
import { randomUUID } from 'node:crypto';

// prettier-ignore
export const idPrefixes = [
  'app', 'db', 'dpl', 'run', 'sch', 'rst', 'dst', 'tok', 'team', 'usr', 'fld', 'rol',
  'srv', 'gc', 'reg', 'prv', 'dlv', 'env', 'ses', 'trs', 'ins', 'str', 'tfa', 'inv', 'act',
  'oau', 'dom', 'crt',
] as const;

export type IdPrefix = (typeof idPrefixes)[number];

// Crockford's base 32 in lower case: digits first, so that text order is number order.
const alphabet = '0123456789abcdefghjkmnpqrstvwxyz';

/** A new id, such as `app_01jd…`: prefix, `_`, 10 characters of time and 16 of chance. */
export function newId(prefix: IdPrefix, nowMs: number = Date.now()): string {
  let id = '';
  for (let rest = nowMs, i = 0; i < 10; i++) {
    id = alphabet.charAt(rest % 32) + id;
    rest = Math.floor(rest / 32);
  }
  // Of a UUID, which costs a quarter of asking for bytes each time, those digits that are all chance.
  const digits = randomUUID();
  for (const five of [
    digits.slice(0, 5),
    digits.slice(24, 29),
    digits.slice(29, 34),
    digits.slice(9, 13) + digits.charAt(15),
  ]) {
    for (let bits = parseInt(five, 16), i = 0; i < 4; i++, bits >>= 5) {
      id += alphabet.charAt(bits & 31);
    }
  }
  return `${prefix}_${id}`;
}
