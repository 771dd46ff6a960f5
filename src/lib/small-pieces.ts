/**
 * Owns that small pieces which wait in a stream cost little more than their bytes. Each alone costs some hundred, and keeps
 * all that was read together with it: who sends bytes one by one could fill the memory with what a window allows.
 */
import type { Readable } from 'node:stream';

const lumpBytes = 8 * 1024;
const nothing = Buffer.alloc(0);

/** What Node 22 has of a stream: the pieces that wait, and their bytes. */
interface Waiting {
  buffer: (Uint8Array | null)[];
  length: number;
}

/** Pushes as the stream's own `push` does. What comes behind something that waits is put together with it by copying. */
export function lumpedPush(readable: Readable): (chunk: Uint8Array | null) => boolean {
  const push = readable.push.bind(readable);
  const waiting = (readable as unknown as { _readableState: Waiting })._readableState;
  let lump = nothing;
  let filled = 0;
  /** The end of what waits, as long as it is a part of the lump. */
  let tail = nothing;
  return (chunk) => {
    if (chunk === null || chunk.length === 0 || chunk.length >= lumpBytes) return push(chunk);
    // Who reads all at once gets it as it is.
    if (readable.readableLength === 0) return push(chunk);
    if (chunk.length > lump.length - filled) {
      [lump, filled, tail] = [Buffer.allocUnsafeSlow(lumpBytes), 0, nothing];
    }
    lump.set(chunk, filled);
    const isBehind = tail.length > 0 && waiting.buffer.at(-1) === tail;
    const start = isBehind ? filled - tail.length : filled;
    filled += chunk.length;
    tail = lump.subarray(start, filled);
    if (!isBehind) return push(tail);
    waiting.buffer[waiting.buffer.length - 1] = tail;
    waiting.length += chunk.length;
    // It does what else is to be done when something came.
    return push(nothing);
  };
}
