/**
 * Owns reading on at the end of one log while it grows: the bytes that are new, once, and no others.
 * What it cannot give so (it is far behind, the file is gone) has to be read by a `LogReader`.
 *
 * 1. Its lines are those of one generation, consecutive, each given once.
 * 2. It holds no file open; in memory it holds the lines that it saw before they were asked for.
 */
import { closeSync, fstatSync, openSync, readSync } from 'node:fs';
import { join } from 'node:path';
import { decodeFileHeader, fileHeaderReadBytes, sightBlock, visitLines } from './block.ts';
import type { LogLine } from './log-name.ts';
import { type SegmentFile, segmentFileName } from './segment-file.ts';

/** New bytes that are worth to be read at once. */
const readMaxBytes = 1024 * 1024;

export class LogTail {
  readonly generation: string;
  readonly #folder: string;
  #path: string;
  #position: number;
  /** Offset of the line that the bytes from `#position` on begin with. */
  #next: number;
  #held: LogLine[] = [];

  /** Begins behind what is known of a log's last segment. */
  constructor(folder: string, last: SegmentFile) {
    this.generation = last.generation;
    this.#folder = folder;
    this.#path = last.path;
    this.#position = last.endBytes;
    this.#next = last.nextOffset;
  }

  /**
   * The lines of these offsets, `to` not among them, in memory of their own. Undefined when they are
   * not to be had: then this tail is of no more use.
   */
  take(from: number, to: number): LogLine[] | undefined {
    if (from !== (this.#held[0]?.offset ?? this.#next)) return undefined;
    while (this.#next < to) if (!this.#readOn() && !this.#turnPage()) return undefined;
    const held = this.#held;
    this.#held = held.slice(to - from);
    return held.length === to - from ? held : held.slice(0, to - from);
  }

  /** False when there is nothing new, or too much. */
  #readOn(): boolean {
    const bytes = readFrom(this.#path, this.#position, readMaxBytes);
    const before = this.#next;
    for (let at = 0; bytes !== undefined;) {
      const block = sightBlock(bytes, at, true);
      // One of other offsets is left over from a write that failed.
      if (block === 'corrupt' || 'needBytes' in block || block.firstOffset !== this.#next) break;
      visitLines(bytes, at, block, (line) => this.#held.push(line) > 0);
      at += block.bytes;
      this.#position += block.bytes;
      this.#next += block.lines;
    }
    return this.#next > before;
  }

  /** To the segment that begins where this one ends; false when there is none. */
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

/** Bytes from a position to the end; undefined when the file is gone, or when there are too many. */
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
