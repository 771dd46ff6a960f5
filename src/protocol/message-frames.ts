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

export interface FrameDecoderOptions {
  /** Of one frame. Default `frameMaxBytes`, which it cannot go beyond. */
  maxBytes?: number;
  /** For frames from another machine; throws FrameError. */
  decode?: (body: Uint8Array) => unknown;
}

/** Takes chunks as they arrive and gives back the values that are complete. */
export class FrameDecoder {
  readonly #maxBytes: number;
  readonly #decode: (body: Uint8Array) => unknown;
  readonly #header = Buffer.alloc(headerBytes);
  #headerFilled = 0;
  /** Of the frame that is arriving; null until its header is whole. Its bytes are copied once, to here. */
  #body: Buffer | null = null;
  #bodyFilled = 0;

  constructor({ maxBytes = frameMaxBytes, decode = decodeBody }: FrameDecoderOptions = {}) {
    this.#maxBytes = Math.min(maxBytes, frameMaxBytes);
    this.#decode = decode;
  }

  /** Values are never views of `chunk`, which may be written over. */
  push(chunk: Uint8Array): unknown[] {
    const values: unknown[] = [];
    for (let at = 0; at < chunk.length;) {
      at +=
        this.#body === null ? this.#takeHeader(chunk, at) : this.#takeBody(this.#body, chunk, at);
      if (this.#body === null || this.#bodyFilled < this.#body.length) continue;
      values.push(this.#decode(this.#body));
      this.#body = null;
    }
    return values;
  }

  /** How many bytes were taken. */
  #takeHeader(chunk: Uint8Array, at: number): number {
    const part = chunk.subarray(at, at + headerBytes - this.#headerFilled);
    this.#header.set(part, this.#headerFilled);
    this.#headerFilled += part.length;
    if (this.#headerFilled === headerBytes) {
      const length = this.#header.readUInt32BE(0);
      if (length === 0 || length > this.#maxBytes) {
        throw new FrameError(`length ${String(length)}, allowed 1 to ${String(this.#maxBytes)}`);
      }
      this.#headerFilled = 0;
      this.#body = Buffer.allocUnsafe(length);
      this.#bodyFilled = 0;
    }
    return part.length;
  }

  #takeBody(body: Buffer, chunk: Uint8Array, at: number): number {
    const part = chunk.subarray(at, at + body.length - this.#bodyFilled);
    body.set(part, this.#bodyFilled);
    this.#bodyFilled += part.length;
    return part.length;
  }
}

function decodeBody(body: Uint8Array): unknown {
  try {
    return decoder.decode(body);
  } catch (error) {
    throw new FrameError('not CBOR', error);
  }
}
