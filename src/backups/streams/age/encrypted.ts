/** Owns the making of age files (https://age-encryption.org/v1) for X25519 recipients. */
import { randomBytes } from 'node:crypto';
import { fileKeyBytes, makeHeader } from './header.ts';
import { publicKeyOf } from './keys.ts';
import { chunkBytes, groupsOf, Payload, payloadNonceBytes } from './payload.ts';

/** `recipients` are `age1…`. Rejects with BAD_USER_INPUT for what is none, and with the errors of `source`. */
export async function* encrypted(
  source: AsyncIterable<Uint8Array>,
  recipients: readonly string[],
): AsyncGenerator<Uint8Array> {
  const keys = recipients.map(publicKeyOf);
  if (keys.length === 0) throw new Error('Cannot encrypt: there is no recipient');
  const fileKey = randomBytes(fileKeyBytes);
  const nonce = randomBytes(payloadNonceBytes);
  yield Buffer.concat([makeHeader(fileKey, keys), nonce]);
  const payload = new Payload(fileKey, nonce);
  for await (const group of groupsOf(source, chunkBytes)) yield payload.seal(group);
}
