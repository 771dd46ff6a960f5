/**
 * Owns what an API token looks like: `gwy_` and 40 base62 characters. The last 6 are a checksum of the
 * first 34, so that a secret scanner (and we, before any look-up) can tell a token from a string that
 * only resembles one.
 *
 * 1. The 34 characters are 202 random bits, evenly spread.
 * 2. What is stored is the SHA-256 of the whole text; the text itself is shown once.
 * 3. The time that a refusal takes does not tell how much of a token is right. The checksum depends on
 *    the given text alone. The look-up compares hashes: a guess that is nearly right shares no more
 *    bytes with the right hash than any other guess, and nobody can steer that.
 */
import { hash, randomBytes } from 'node:crypto';
import { crc32 } from 'node:zlib';

export const tokenPrefix = 'gwy_';

const alphabet = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const chanceLength = 34;
const checksumLength = 6;
const tokenLength = tokenPrefix.length + chanceLength + checksumLength;
const pattern = /^gwy_[0-9A-Za-z]{40}$/;
// The largest multiple of 62 that a byte can hold. Larger bytes would favour the first characters.
const evenBelow = 248;

/** A new secret: the only time its text exists on our side. */
export function newTokenSecret(): string {
  let chance = '';
  while (chance.length < chanceLength) {
    for (const byte of randomBytes(chanceLength * 2)) {
      if (byte < evenBelow && chance.length < chanceLength) chance += alphabet.charAt(byte % 62);
    }
  }
  return tokenPrefix + chance + checksumOf(chance);
}

/** Whether a text can be a token at all: length, characters and checksum. */
export function isWellFormedToken(text: string): boolean {
  if (text.length !== tokenLength || !pattern.test(text)) return false;
  const end = tokenPrefix.length + chanceLength;
  return text.slice(end) === checksumOf(text.slice(tokenPrefix.length, end));
}

/** What is stored of a token: SHA-256 of the whole text, hex. */
export function tokenHash(secret: string): string {
  return hash('sha256', secret, 'hex');
}

/** What lists show of a token: the prefix and four characters. */
export function shownPrefix(secret: string): string {
  return secret.slice(0, tokenPrefix.length + 4);
}

function checksumOf(chance: string): string {
  let text = '';
  for (let rest = crc32(chance), i = 0; i < checksumLength; i++) {
    text = alphabet.charAt(rest % 62) + text;
    rest = Math.floor(rest / 62);
  }
  return text;
}
