/**
 * Owns how the streams of backups hand chunks on: a chunk belongs to whoever takes it. Its maker neither
 * touches its memory again nor hands it out twice.
 *
 * V8 counts the memory of buffers late. Without freeing, a fast stream holds tens of megabytes that nobody
 * reads any more.
 */

// Smaller ones matter little, and may be constants of their maker.
const freedMinBytes = 8 * 1024;

/** The chunks of `source`, each freed as soon as the next one is asked for, or none any more. */
export async function* takenFrom(source: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  for await (const chunk of source) {
    if (isFreed(chunk)) throw new Error('Cannot take a chunk: it was handed out before');
    try {
      yield chunk;
    } finally {
      free(chunk);
    }
  }
}

/** Frees the memory of a chunk, unless the chunk is only a part of it. */
export function free({ buffer, byteLength }: Uint8Array): void {
  const isWhole = byteLength === buffer.byteLength && byteLength >= freedMinBytes;
  if (isWhole && buffer instanceof ArrayBuffer) buffer.transfer(0);
}

function isFreed({ buffer }: Uint8Array): boolean {
  return buffer instanceof ArrayBuffer && buffer.detached;
}
