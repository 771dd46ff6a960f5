/** Owns the reading of age files (https://age-encryption.org/v1) with an X25519 key. */
import { corrupt } from '../refusals.ts';
import { headerEnd, headerMaxBytes, openHeader } from './header.ts';
import { identityOf } from './keys.ts';
import { groupsOf, Payload, payloadNonceBytes, sealedBytes } from './payload.ts';

type Chunks = AsyncIterator<Uint8Array>;

/**
 * Gives no byte that is not proven. Rejects with RECOVERY_KEY_WRONG before anything is given, with
 * ARTIFACT_CORRUPT, and with the errors of `source`.
 */
export async function* decrypted(
  source: AsyncIterable<Uint8Array>,
  recoveryKey: string,
): AsyncGenerator<Uint8Array> {
  const identity = identityOf(recoveryKey);
  const chunks = source[Symbol.asyncIterator]();
  try {
    const { head, end } = await headOf(chunks);
    const start = end + payloadNonceBytes;
    const fileKey = openHeader(head.subarray(0, end), identity);
    const payload = new Payload(fileKey, head.subarray(end, start));
    const rest = restOf(head.subarray(start), chunks);
    for await (const group of groupsOf(rest, sealedBytes)) {
      const opened = payload.open(group);
      if (opened.length > 0) yield opened;
    }
  } finally {
    await chunks.return?.();
  }
}

/** What was read until the header and the nonce behind it were there, and where the header ends. */
async function headOf(chunks: Chunks): Promise<{ head: Buffer; end: number }> {
  let head: Buffer = Buffer.alloc(0);
  for (;;) {
    const end = headerEnd(head.subarray(0, headerMaxBytes));
    if (end !== null && head.length >= end + payloadNonceBytes) return { head, end };
    if (end === null && head.length >= headerMaxBytes) throw corrupt('its header has no end');
    const next = await chunks.next();
    if (next.done === true) throw corrupt('its header is cut off');
    head = Buffer.concat([head, next.value]);
  }
}

async function* restOf(first: Uint8Array, chunks: Chunks): AsyncGenerator<Uint8Array> {
  yield first;
  for (;;) {
    const next = await chunks.next();
    if (next.done === true) return;
    yield next.value;
  }
}
