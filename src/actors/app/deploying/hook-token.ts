/**
 * Owns the URL token of a deploy hook. The token is stored hashed, for a comparison in constant time, and
 * sealed, to show it again; never in clear.
 */
import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import type { AppRecord } from '../../../store/records/records.ts';
import type { SecretBox } from '../../workload/deps.ts';

export function newHookToken(
  secrets: SecretBox,
  appId: string,
): { token: string } & Pick<AppRecord, 'hookHash' | 'hookSealed'> {
  const token = randomBytes(32).toString('base64url');
  return {
    token,
    hookHash: hashHookToken(token),
    hookSealed: secrets.seal(token, hookContext(appId)),
  };
}

/** SHA-256 in hex, as `hook` expects it. */
export function hashHookToken(token: string): string {
  return createHash('sha256').update(token).digest('hex');
}

export function sameHash(a: string, b: string): boolean {
  const [left, right] = [Buffer.from(a, 'hex'), Buffer.from(b, 'hex')];
  return left.length === right.length && left.length > 0 && timingSafeEqual(left, right);
}

export function hookContext(appId: string): string {
  return `hook:${appId}`;
}
