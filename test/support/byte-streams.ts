/** Owns streams of bytes for tests. */
import { createHash } from 'node:crypto';

/** Copies of the pieces of `bytes`, each `size` long but the last one. */
export async function* inPieces(bytes: Uint8Array, size: number): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += size) {
    await Promise.resolve();
    yield new Uint8Array(bytes.subarray(at, at + size));
  }
}

export async function joined(stream: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of stream) chunks.push(chunk);
  return Buffer.concat(chunks);
}

/** Bytes that no compression makes smaller, always the same ones. */
export function noise(length: number, seed = 'noise'): Buffer {
  const parts: Buffer[] = [];
  for (let made = 0; made < length; made += 32) {
    parts.push(createHash('sha256').update(`${seed} ${made}`).digest());
  }
  return Buffer.concat(parts, Math.max(length, 0)).subarray(0, length);
}

/** Text that compresses as dumps of databases do. */
export function rows(length: number): Buffer {
  let text = '';
  for (let id = 0; text.length < length; id++) {
    text += `${id}\t${(id * 7919) % 10_007}\tcustomer ${id % 97}\t2026-01-${10 + (id % 20)}\n`;
  }
  return Buffer.from(text.slice(0, length));
}
