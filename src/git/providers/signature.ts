/** Owns signatures of deliveries. Every comparison takes the same time wherever the two differ. */
import { createHash, createHmac, timingSafeEqual } from 'node:crypto';

/** Whether `signature` is the HMAC-SHA256 of the body in hex, behind `prefix`. */
export function isSigned(
  signature: string,
  body: Uint8Array,
  secret: string | null,
  prefix = '',
): boolean {
  if (secret === null || !signature.startsWith(prefix)) return false;
  const hex = signature.slice(prefix.length);
  if (!/^[0-9a-f]{64}$/i.test(hex)) return false;
  const expected = createHmac('sha256', secret).update(body).digest();
  return timingSafeEqual(Buffer.from(hex, 'hex'), expected);
}

/** Whether both are the same secret. */
export function isSecret(given: string, secret: string | null): boolean {
  if (secret === null || given === '') return false;
  // Digests are of one length, so that not even the length of the secret shows.
  return timingSafeEqual(digest(given), digest(secret));
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}
