/**
 * Owns the payload of age files: chunks of 64 KiB, each sealed with ChaCha20-Poly1305 (the STREAM
 * construction). The nonce of a chunk counts, and says which one is the last, so that nothing can be cut off,
 * added or moved.
 */
import { createCipheriv, createDecipheriv } from 'node:crypto';
import { free, takenFrom } from '../chunks.ts';
import { corrupt } from '../refusals.ts';
import { derive } from './header.ts';

export const chunkBytes = 64 * 1024;
export const tagBytes = 16;
export const sealedBytes = chunkBytes + tagBytes;
export const payloadNonceBytes = 16;

const cipher = 'chacha20-poly1305';

/** Seals the chunks of one payload, each once, and opens them in any order. */
export class Payload {
  readonly #key: Buffer;
  /** A counter of 11 bytes, and one that is 1 for the last chunk. */
  readonly #nonce = Buffer.alloc(12);

  constructor(fileKey: Uint8Array, nonce: Uint8Array) {
    this.#key = derive(fileKey, nonce, 'payload');
  }

  seal({ index, bytes, isLast }: Group): Buffer {
    const sealing = createCipheriv(cipher, this.#key, this.#nonceOf(index, isLast), {
      authTagLength: tagBytes,
    });
    const sealed = sealing.update(bytes);
    sealing.final();
    const whole = Buffer.concat([sealed, sealing.getAuthTag()]);
    free(sealed);
    return whole;
  }

  /** Throws ARTIFACT_CORRUPT. */
  open({ index, bytes, isLast }: Group): Buffer {
    const end = bytes.length - tagBytes;
    // Only a payload of nothing has a chunk of nothing.
    if (end < 0 || (end === 0 && index > 0)) throw corrupt('its encrypted data is cut off');
    const opening = createDecipheriv(cipher, this.#key, this.#nonceOf(index, isLast), {
      authTagLength: tagBytes,
    });
    opening.setAuthTag(bytes.subarray(end));
    const opened = opening.update(bytes.subarray(0, end));
    try {
      opening.final();
    } catch (error) {
      const what = isLast ? 'is damaged or cut off' : 'is damaged';
      throw corrupt(`its encrypted data ${what}`, error);
    }
    return opened;
  }

  #nonceOf(index: number, isLast: boolean): Buffer {
    // 48 bits of the counter are enough for 16 exabytes.
    this.#nonce.writeUIntBE(index, 5, 6);
    this.#nonce[11] = isLast ? 1 : 0;
    return this.#nonce;
  }
}

export interface Group {
  /** Of all groups of its stream, from 0 on. */
  index: number;
  /** Valid until the next group is asked for. */
  bytes: Buffer;
  isLast: boolean;
}

/** A stream in groups of `size` bytes; only the last one, of which there is always one, may be shorter. */
export async function* groupsOf(
  source: AsyncIterable<Uint8Array>,
  size: number,
): AsyncGenerator<Group> {
  const group = Buffer.allocUnsafeSlow(size);
  let filled = 0;
  let index = 0;
  for await (const chunk of takenFrom(source)) {
    for (let at = 0; at < chunk.length;) {
      if (filled === size) {
        yield { index: index++, bytes: group, isLast: false };
        filled = 0;
      }
      const part = chunk.subarray(at, at + size - filled);
      group.set(part, filled);
      filled += part.length;
      at += part.length;
    }
  }
  yield { index, bytes: group.subarray(0, filled), isLast: true };
}
