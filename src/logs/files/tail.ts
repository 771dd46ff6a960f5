/**
 * Owns reading the end of one log while it grows: new bytes are read once, and no others. When it is
 * too far behind, or the file is gone, a `LogReader` has to read instead.
 *
 * 1. Its lines are consecutive lines of one generation, each given once.
 * 2. It holds no file open. In memory it holds lines that it read before they were asked for.
 */
import { closeSync, fstatSync, openSync, readSync } from 'node:fs';
import { join } from 'node:path';
import { decodeFileHeader, fileHeaderReadBytes, sightBlock, visitLines } from './block.ts';
import type { LogLine } from './log.ts';
import { type SegmentFile, segmentFileName } from './segment-file.ts';

/** With more new bytes than this, the tail gives up. */
const readMaxBytes = 1024 * 1024;

export class LogTail {
  readonly generation: string;
  readonly #folder: string;
  #path: string;
  #position: number;
  /** Offset of the line that begins at `#position`. */
  #next: number;
  #held: LogLine[] = [];

  /** Begins at the known end of a log's last segment. */
  constructor(folder: string, last: SegmentFile) {
    this.generation = last.generation;
    this.#folder = folder;
    this.#path = last.path;
    this.#position = last.endBytes;
    this.#next = last.nextOffset;
  }

  /**
   * The lines from offset `from` up to, not including, `to`, in memory of their own. Undefined when the
   * tail cannot give them; it is of no more use then.
   */
  take(from: number, to: number): LogLine[] | undefined {
    if (from !== (this.#held[0]?.offset ?? this.#next)) return undefined;
    while (this.#next < to) if (!this.#readOn() && !this.#turnPage()) return undefined;
    const held = this.#held;
    this.#held = held.slice(to - from);
    return held.length === to - from ? held : held.slice(0, to - from);
  }

  /** Reads what is new; false when that is nothing, or too much. */
  #readOn(): boolean {
    const bytes = readFrom(this.#path, this.#position, readMaxBytes);
    const before = this.#next;
    for (let at = 0; bytes !== undefined;) {
      const block = sightBlock(bytes, at, true);
      // A block with another offset is left over from a failed write.
      if (block === 'corrupt' || 'needBytes' in block || block.firstOffset !== this.#next) break;
      visitLines(bytes, at, block, (line) => this.#held.push(line) > 0);
      at += block.bytes;
      this.#position += block.bytes;
      this.#next += block.lines;
    }
    return this.#next > before;
  }

  /** Moves to the segment that begins where this one ends; false when there is none. */
  #turnPage(): boolean {
    const path = join(this.#folder, segmentFileName(this.generation, this.#next));
    if (path === this.#path) return false;
    const head = readFrom(path, 0, Infinity, fileHeaderReadBytes);
    const header = head === undefined ? undefined : decodeFileHeader(head);
    if (header === undefined) return false;
    this.#path = path;
    this.#position = header.bytes;
    return true;
  }
}

/** Bytes from a position to the end of a file; undefined when the file is gone or has too many. */
function readFrom(
  path: string,
  position: number,
  tooMany: number,
  most = tooMany,
): Buffer | undefined {
  let fd: number;
  try {
    fd = openSync(path, 'r');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
  try {
    const length = fstatSync(fd).size - position;
    if (length > tooMany) return undefined;
    const bytes = Buffer.allocUnsafeSlow(Math.max(0, Math.min(length, most)));
    return bytes.subarray(0, readSync(fd, bytes, 0, bytes.length, position));
  } finally {
    closeSync(fd);
  }
}
