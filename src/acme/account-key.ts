/** Owns the key of an account, and what it answers challenges with (RFC 8555, section 8.1). */
import { createHash, createPublicKey, type KeyObject } from 'node:crypto';
import type { JWK } from 'jose';

/** Its members stand in the order in which they are hashed. */
export function publicJwk(key: KeyObject): JWK {
  const { crv, kty, x, y } = createPublicKey(key).export({ format: 'jwk' }) as JWK;
  return { crv, kty, x, y } as JWK;
}

/** RFC 7638, in base64url. */
export function thumbprintOf(key: KeyObject): string {
  return digest(JSON.stringify(publicJwk(key)));
}

/** The value of the TXT record that answers a challenge by DNS. */
export function dnsAnswer(token: string, thumbprint: string): string {
  return digest(`${token}.${thumbprint}`);
}

function digest(text: string): string {
  return createHash('sha256').update(text).digest('base64url');
}
