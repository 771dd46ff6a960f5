/**
 * Owns the token in the address of a connection's webhook. It follows from the connection's id and a key of
 * the instance, so that it can be shown again and is stored nowhere.
 */
import { createHash, createHmac } from 'node:crypto';

/** What the key is derived for. */
export const webhookKeyPurpose = 'git-webhook';

/** `key`: 32 bytes in hex. */
export function webhookToken(key: string, connectionId: string): string {
  return createHmac('sha256', Buffer.from(key, 'hex')).update(connectionId).digest('base64url');
}

/** By which a connection is found: SHA-256, hex. */
export function webhookHash(token: string): string {
  return createHash('sha256').update(token).digest('hex');
}
