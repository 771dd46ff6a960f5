/**
 * Owns the compression of one block of a gzip stream. A block is primed with the 32 KiB before it and ends
 * on a byte, so that blocks compressed apart and joined are one deflate stream (as pigz does it).
 */
import { constants, deflateRawSync } from 'node:zlib';
import { free } from './chunks.ts';

/** What deflate looks back to at most. */
export const primerMax = 32 * 1024;
// Larger blocks gain nothing in size, and smaller ones cost up to a tenth of the speed.
export const blockBytes = 256 * 1024;

/** The last `primerBytes` of the first `primerMax` bytes are what came before; the block follows them. */
export interface Block {
  memory: ArrayBuffer;
  primerBytes: number;
  bytes: number;
}

export function blockMemory(): ArrayBuffer {
  return new ArrayBuffer(primerMax + blockBytes);
}

/** The compressed block, written over the block's own memory. */
export function deflateBlock({ memory, primerBytes, bytes }: Block): Uint8Array<ArrayBuffer> {
  const block = new Uint8Array(memory, primerMax, bytes);
  const primer = new Uint8Array(memory, primerMax - primerBytes, primerBytes);
  let packed = deflated(block, primer, 6);
  // Stored, what cannot be compressed grows less.
  if (packed.length > bytes) {
    free(new Uint8Array(packed.buffer));
    packed = deflated(block, primer, 0);
  }
  const result = new Uint8Array(memory, 0, packed.length);
  result.set(packed);
  free(new Uint8Array(packed.buffer));
  return result;
}

function deflated(block: Uint8Array, primer: Uint8Array, level: number): Buffer<ArrayBuffer> {
  return deflateRawSync(block, {
    level,
    ...(primer.length > 0 && { dictionary: primer }),
    finishFlush: constants.Z_SYNC_FLUSH,
    // Room for the whole result, so that it is not joined of pieces.
    chunkSize: primerMax + blockBytes,
  });
}
