/** Owns heads as they come, in one frame or in several (RFC 9113, 4.3 and 6.2), until they are read. */
import type { Frame } from './frame-reader.ts';
import { type ErrorCode, errors, frameFlags } from './frames.ts';
import { blockBytesMax, type DecodedHead, HpackDecoder } from './hpack-decoder.ts';

export const headBytesMax = 32 * 1024;
const fieldsMax = 200;
/** Of CONTINUATION: an empty one costs its sender nine bytes. */
const framesMax = 64;
const priorityBytes = 5;

export type HeadTaker = (stream: number, head: DecodedHead, endsStream: boolean) => void;

/** One that is not whole. */
interface Block {
  stream: number;
  endsStream: boolean;
  parts: Buffer[];
  bytes: number;
}

export class HeadReader {
  readonly #decoder = new HpackDecoder({ headBytesMax, fieldsMax });
  readonly #take: HeadTaker;
  #block: Block | undefined;

  constructor(take: HeadTaker) {
    this.#take = take;
  }

  /** The next frame has to go on with a head. */
  get isWithin(): boolean {
    return this.#block !== undefined;
  }

  /** Undefined: so far nothing is wrong. */
  headers(frame: Frame): ErrorCode | undefined {
    const { flags, stream, bytes } = frame;
    const range = fragmentOf(frame);
    if (stream % 2 === 0 || range === undefined) return errors.protocol;
    const endsStream = (flags & frameFlags.endStream) !== 0;
    const [from, to] = range;
    if (flags & frameFlags.endHeaders) return this.#whole(stream, endsStream, bytes, from, to);
    this.#block = { stream, endsStream, parts: [], bytes: 0 };
    return this.#add(this.#block, bytes, from, to);
  }

  continuation({ flags, stream, bytes, from, to }: Frame): ErrorCode | undefined {
    const block = this.#block;
    if (block?.stream !== stream) return errors.protocol;
    const error = this.#add(block, bytes, from, to);
    if (error !== undefined || !(flags & frameFlags.endHeaders)) return error;
    this.#block = undefined;
    const all = Buffer.concat(block.parts);
    return this.#whole(stream, block.endsStream, all, 0, all.length);
  }

  #add(block: Block, bytes: Buffer, from: number, to: number): ErrorCode | undefined {
    block.parts.push(Buffer.from(bytes.subarray(from, to)));
    block.bytes += to - from;
    const isTooMuch = block.bytes > blockBytesMax || block.parts.length > framesMax;
    return isTooMuch ? errors.enhanceYourCalm : undefined;
  }

  #whole(
    stream: number,
    endsStream: boolean,
    bytes: Buffer,
    from: number,
    to: number,
  ): ErrorCode | undefined {
    const head = this.#decoder.decode(bytes, from, to);
    if (head === undefined) return errors.compression;
    this.#take(stream, head, endsStream);
    return undefined;
  }
}

/** Of HEADERS: without padding and priority. Undefined: there is more of these than of the frame. */
function fragmentOf({ flags, bytes, from, to }: Frame): [from: number, to: number] | undefined {
  let [start, end] = [from, to];
  if (flags & frameFlags.padded) {
    if (start === end) return undefined;
    end -= bytes[start++] ?? 0;
  }
  if (flags & frameFlags.priority) start += priorityBytes;
  return start > end ? undefined : [start, end];
}
