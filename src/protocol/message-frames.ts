/**
 * Owns the frames between two of our processes: a 4-byte big-endian length, then one CBOR value.
 *
 * 1. Decoding gives the same values however the bytes were cut into chunks.
 * 2. A frame above `frameMaxBytes`, or one that is no CBOR, throws FrameError. The stream is then
 *    useless and its owner closes it.
 */
import { Decoder, Encoder } from 'cbor-x';

/** Above the largest legitimate frame (a read of 1 MiB of log) by a wide margin. */
export const frameMaxBytes = 8 * 1024 * 1024;

const headerBytes = 4;

// Plain maps instead of records: a peer of another version needs no shared table of structures.
const encoder = new Encoder({ useRecords: false, mapsAsObjects: true });
const decoder = new Decoder({ useRecords: false, mapsAsObjects: true });

export class FrameError extends Error {
  constructor(detail: string, cause?: unknown) {
    super(`Cannot read frame: ${detail}`, { cause });
    this.name = 'FrameError';
  }
}

/** One frame, header included. Throws FrameError when the value is too large to be read back. */
export function encodeFrame(value: unknown): Uint8Array {
  const body = encoder.encode(value);
  if (body.length > frameMaxBytes) {
    throw new FrameError(`${String(body.length)} bytes, at most ${String(frameMaxBytes)}`);
  }
  const frame = Buffer.allocUnsafe(headerBytes + body.length);
  frame.writeUInt32BE(body.length, 0);
  body.copy(frame, headerBytes);
  return frame;
}

/** Takes chunks as they arrive and gives back the values that are complete. */
export class FrameDecoder {
  #chunks: Buffer[] = [];
  #buffered = 0;
  /** Bytes needed before anything can be decoded; spares joining chunks for nothing. */
  #needed = headerBytes;

  /** Values are decoded copies, never views of `chunk`. */
  push(chunk: Uint8Array): unknown[] {
    this.#chunks.push(Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength));
    this.#buffered += chunk.byteLength;
    if (this.#buffered < this.#needed) return [];
    const only = this.#chunks[0];
    const bytes = this.#chunks.length === 1 && only ? only : Buffer.concat(this.#chunks);
    const values: unknown[] = [];
    let position = 0;
    this.#needed = headerBytes;
    while (bytes.length - position >= headerBytes) {
      const length = bytes.readUInt32BE(position);
      if (length === 0 || length > frameMaxBytes) {
        throw new FrameError(`length ${String(length)}, allowed 1 to ${String(frameMaxBytes)}`);
      }
      const end = position + headerBytes + length;
      if (end > bytes.length) {
        this.#needed = headerBytes + length;
        break;
      }
      values.push(decodeBody(bytes.subarray(position + headerBytes, end)));
      position = end;
    }
    // A copy: the rest must not keep a large chunk in memory, nor be a view of memory that the caller
    // reuses.
    const rest = Buffer.from(bytes.subarray(position));
    this.#chunks = rest.length > 0 ? [rest] : [];
    this.#buffered = rest.length;
    return values;
  }
}

function decodeBody(body: Buffer): unknown {
  try {
    return decoder.decode(Buffer.from(body));
  } catch (error) {
    throw new FrameError('not CBOR', error);
  }
}
