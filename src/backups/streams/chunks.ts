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
    mustBeFirst(chunk);
    try {
      yield chunk;
    } finally {
      free(chunk);
    }
  }
}

/** Frees the memory of a chunk, unless the chunk is only a part of it. */
export function free(chunk: Uint8Array): void {
  if (isWhole(chunk)) chunk.buffer.transfer(0);
}

/** The chunk in memory that another thread can be given: a copy where its own is not all its. */
export function givable(chunk: Uint8Array): Uint8Array<ArrayBuffer> {
  mustBeFirst(chunk);
  return isWhole(chunk) ? chunk : new Uint8Array(chunk);
}

function isWhole(chunk: Uint8Array): chunk is Uint8Array<ArrayBuffer> {
  const { buffer, byteLength } = chunk;
  const isAll = byteLength === buffer.byteLength && byteLength >= freedMinBytes;
  return isAll && buffer instanceof ArrayBuffer;
}

function mustBeFirst({ buffer }: Uint8Array): void {
  const isFreed = buffer instanceof ArrayBuffer && buffer.detached;
  if (isFreed) throw new Error('Cannot take a chunk: it was handed out before');
}
