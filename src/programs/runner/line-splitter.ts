/**
 * Owns the step from bytes of a pipe to log entries.
 *
 * 1. Every byte comes out once and in order; an entry ends behind a newline, or at `entryMaxBytes`,
 *    or when `flush` is called because nothing came for a while.
 * 2. A character of UTF-8 is not cut when it can be helped.
 */
import { encodeRecords, entryMaxBytes } from '../../protocol/log-records.ts';
import type { EntryStream } from '../../protocol/workload.ts';

const newline = 10;

export interface EncodedEntries {
  records: Buffer;
  count: number;
}

/** What came out of a chunk. */
interface Taken extends EncodedEntries {
  /** Bytes of the chunk that were looked at, which is all but what is behind the last line. */
  used: number;
}

export class LineSplitter {
  readonly #stream: EntryStream;
  /** The line not finished yet; below `entryMaxBytes`. */
  #rest: Buffer = Buffer.alloc(0);

  constructor(stream: EntryStream) {
    this.#stream = stream;
  }

  get pending(): boolean {
    return this.#rest.length > 0;
  }

  /** Ends behind the line that makes `linesMax` entries; a line above `entryMaxBytes` counts as one. */
  push(chunk: Buffer, atMs: number, linesMax = Infinity): Taken {
    const known = this.#rest.length;
    const bytes = known > 0 ? Buffer.concat([this.#rest, chunk]) : chunk;
    const ends: number[] = [];
    let start = 0;
    // The rest was searched before; a newline can only be in the new part.
    let searchFrom = known;
    let end = bytes.length;
    for (;;) {
      if (ends.length >= linesMax) {
        end = start;
        break;
      }
      const from = Math.max(searchFrom, start);
      // The call would cost an empty line more than all the rest.
      const found = bytes[from] === newline ? from : bytes.indexOf(newline, from);
      const lineEnd = found === -1 ? bytes.length : found + 1;
      while (
        lineEnd - start > entryMaxBytes ||
        (found === -1 && lineEnd - start === entryMaxBytes)
      ) {
        start = cutPosition(bytes, start);
        ends.push(start);
      }
      if (found === -1) break;
      ends.push(lineEnd);
      start = lineEnd;
      searchFrom = start;
    }
    // A copy, so that a few bytes do not pin the chunk.
    this.#rest = Buffer.from(bytes.subarray(start, end));
    return { ...this.#encode(bytes, ends, atMs), used: end - known };
  }

  /** Gives out the unfinished line. */
  flush(atMs: number): EncodedEntries {
    const bytes = this.#rest;
    this.#rest = Buffer.alloc(0);
    return this.#encode(bytes, bytes.length > 0 ? [bytes.length] : [], atMs);
  }

  #encode(bytes: Buffer, ends: readonly number[], atMs: number): EncodedEntries {
    return { records: encodeRecords(bytes, ends, this.#stream, atMs), count: ends.length };
  }
}

/** Where a too long line is cut: at the bound, or up to three bytes before, between characters. */
function cutPosition(bytes: Buffer, start: number): number {
  const bound = start + entryMaxBytes;
  for (let back = 0; back < 4; back++) {
    const byte = bytes[bound - back];
    if (byte === undefined || (byte & 0xc0) !== 0x80) return bound - back;
  }
  return bound;
}
