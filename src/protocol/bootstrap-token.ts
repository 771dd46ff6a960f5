/**
 * Owns the token that a new agent comes with: `gwb_`, 40 base62 characters, a dot, and the hash of the authority's
 * key, by which the agent knows whom it speaks to before it trusts anybody.
 *
 * 1. The 40 characters are 238 random bits, evenly spread.
 * 2. What is stored is the SHA-256 of the whole text, which is shown once. Look-ups compare hashes, so the time of a
 *    refusal tells nothing of how much of a guess is right.
 */
import { hash, randomBytes } from 'node:crypto';

const prefix = 'gwb_';
const alphabet = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const chanceLength = 40;
// The largest multiple of 62 that a byte can hold. Larger bytes would favour the first characters.
const evenBelow = 248;
const pattern = /^gwb_[0-9A-Za-z]{40}\.([\w-]{43})$/;

/** `authorityHash`: SHA-256 of the authority's public key (SPKI, DER), in base64url. */
export function newBootstrapToken(authorityHash: string): string {
  let chance = '';
  while (chance.length < chanceLength) {
    for (const byte of randomBytes(chanceLength * 2)) {
      if (byte < evenBelow && chance.length < chanceLength) chance += alphabet.charAt(byte % 62);
    }
  }
  return `${prefix}${chance}.${authorityHash}`;
}

/** The hash of the authority's key; null: the text is no such token. */
export function authorityHashIn(token: string): string | null {
  return pattern.exec(token)?.[1] ?? null;
}

/** What is stored of a token: SHA-256 of the whole text, hex. */
export function bootstrapTokenHash(token: string): string {
  return hash('sha256', token, 'hex');
}
