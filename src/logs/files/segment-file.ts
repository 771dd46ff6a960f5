/**
 * Owns one segment: a file of blocks, and the position of each line in it.
 *
 * 1. Whole blocks count, nothing else: a torn tail ends the segment before it.
 * 2. It may be read while its writer appends. A reader finds new blocks by scanning from the last known
 *    end.
 * 3. Its name holds its generation and first offset, so that names sort as segments do.
 */
import { closeSync, fstatSync, openSync, readdirSync, readSync } from 'node:fs';
import { join } from 'node:path';
import {
  type Block,
  decodeFileHeader,
  type FileHeader,
  fileHeaderReadBytes,
  sightBlock,
  visitLines,
} from './block.ts';
import type { LogLine, LogName } from './log.ts';

const scanBytes = 256 * 1024;
/** Distance between two remembered positions. */
const markBytes = 32 * 1024;

interface Mark {
  offset: number;
  position: number;
  lastAtMs: number;
}

const logPattern = /^(app|build|db):[A-Za-z0-9_-]{1,128}(\.[a-z0-9_-]{1,40})?$/;

/** The folder of a log below the logs' folder. */
export function logFolder(log: LogName): string {
  if (!logPattern.test(log)) {
    throw new Error('Cannot name the folder of a log: its name holds other characters');
  }
  return log.replace(':', '-');
}

/** The log that a folder is of; undefined for a folder of no log. */
export function logOfFolder(folder: string): LogName | undefined {
  const log = folder.replace('-', ':');
  return logPattern.test(log) ? (log as LogName) : undefined;
}

function segmentFileName(generation: string, firstOffset: number): string {
  return `${generation}-${String(firstOffset).padStart(16, '0')}.log`;
}

/** The segments in a log's folder: those of its newest generation in order, and what is left of others. */
export function listSegments(folder: string): { newest: SegmentFile[]; others: SegmentFile[] } {
  const found: SegmentFile[] = [];
  // In the order of generations and offsets.
  for (const name of namesIn(folder).sort()) {
    const [, generation, firstOffset] = /^([a-z0-9]{8,32})-(\d{16})\.log$/.exec(name) ?? [];
    if (generation === undefined) continue;
    found.push(new SegmentFile(folder, generation, Number(firstOffset)));
  }
  const generation = found.at(-1)?.generation;
  const begins = found.findIndex((segment) => segment.generation === generation);
  return { newest: found.slice(Math.max(0, begins)), others: found.slice(0, Math.max(0, begins)) };
}

/** Empty for a folder that is not there. */
export function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw error;
  }
}

export class SegmentFile {
  readonly path: string;
  readonly generation: string;
  readonly firstOffset: number;
  /**
   * Whether the writer is on this thread and reports every append, so that the file need not be
   * scanned.
   */
  owned = false;
  nextOffset: number;
  /** Time of the first and of the latest line; null while it has none. */
  firstAtMs: number | null = null;
  lastAtMs: number | null = null;
  header: FileHeader | undefined;
  #end = 0;
  #marks: Mark[] = [];

  constructor(folder: string, generation: string, firstOffset: number) {
    this.path = join(folder, segmentFileName(generation, firstOffset));
    this.generation = generation;
    this.firstOffset = firstOffset;
    this.nextOffset = firstOffset;
  }

  /** Bytes up to the end of the last whole block; 0 until its header was read or written. */
  get endBytes(): number {
    return this.#end;
  }

  get lines(): number {
    return this.nextOffset - this.firstOffset;
  }

  /** The writer made the file and wrote this header. */
  begin(header: FileHeader, bytes: number): void {
    this.header = header;
    this.#end = bytes;
  }

  /** A whole block stands behind the last one. */
  push(block: Block): void {
    const last = this.#marks.at(-1);
    if (last === undefined || this.#end - last.position >= markBytes) {
      this.#marks.push({
        offset: block.firstOffset,
        position: this.#end,
        lastAtMs: block.lastAtMs,
      });
    } else if (block.lastAtMs > last.lastAtMs) {
      last.lastAtMs = block.lastAtMs;
    }
    this.firstAtMs ??= block.firstAtMs;
    this.lastAtMs = Math.max(this.lastAtMs ?? block.lastAtMs, block.lastAtMs);
    this.nextOffset = block.firstOffset + block.lines;
    this.#end += block.bytes;
  }

  /**
   * Reads blocks that were appended since the last look. Returns false when the file is gone. `visit`
   * gets every new block.
   */
  scan(visit?: (block: Block) => void): boolean {
    if (this.owned) return true;
    return this.#withFile((fd) => {
      const size = fstatSync(fd).size;
      if (this.#end === 0 && !this.#readHeader(fd)) return;
      this.#walk(fd, this.#end, size, scanBytes, true, (_bytes, _at, block) => {
        // A block with another offset is left over from a failed write; it ends the segment.
        if (block.firstOffset !== this.nextOffset) return false;
        this.push(block);
        visit?.(block);
        return true;
      });
    });
  }

  /**
   * Hands lines from offset `from` on to `visit`, until it returns false; with `sourceId` only lines of
   * this source. Returns false when the file is gone.
   */
  visit(
    from: number,
    aboutBytes: number,
    visit: (line: LogLine) => boolean,
    sourceId?: string,
  ): boolean {
    if (from >= this.nextOffset) return true;
    const mark = this.#markBefore(from);
    return this.#withFile((fd) => {
      const chunkBytes = Math.min(scanBytes, aboutBytes + markBytes);
      this.#walk(fd, mark.position, this.#end, chunkBytes, false, (bytes, at, block) => {
        if (block.firstOffset + block.lines <= from) return true;
        if (sourceId !== undefined && block.source?.id !== sourceId) return true;
        return visitLines(bytes, at, block, (line) => line.offset < from || visit(line));
      });
    });
  }

  /**
   * Hands the blocks that hold the lines before offset `before` to `visit`, in their order: of a longer segment
   * about the last `aboutBytes`. Their bytes may be kept. Returns the offset of the first line handed on,
   * undefined where there are no lines before.
   */
  visitBlocksBefore(
    before: number,
    aboutBytes: number,
    visit: (bytes: Buffer, at: number, block: Block) => void,
  ): number | undefined {
    const last = this.#marks.findLast((mark) => mark.offset < before);
    if (last === undefined) return undefined;
    const first = this.#marks.find((mark) => mark.position >= last.position - aboutBytes) ?? last;
    this.#withFile((fd) => {
      this.#walk(fd, first.position, this.#end, scanBytes, false, (bytes, at, block) => {
        if (block.firstOffset >= before) return false;
        visit(bytes, at, block);
        return true;
      });
    });
    return first.offset;
  }

  /** Offset of the first line at or after a time; undefined when all lines are older. */
  offsetAt(atMs: number): number | undefined {
    if (this.lastAtMs === null || this.lastAtMs < atMs) return undefined;
    const first = this.#marks.find((mark) => mark.lastAtMs >= atMs);
    let found: number | undefined;
    this.visit(first?.offset ?? this.firstOffset, scanBytes, (line) => {
      if (line.atMs >= atMs) found = line.offset;
      return found === undefined;
    });
    return found;
  }

  /** Time of the first line. Only the first block is read. */
  peekFirstAtMs(): number | null {
    if (this.firstAtMs === null && !this.owned) {
      this.#withFile((fd) => {
        if (this.#end === 0 && !this.#readHeader(fd)) return;
        const size = fstatSync(fd).size;
        this.#walk(fd, this.#end, size, 4096, false, (_bytes, _at, block) => {
          this.firstAtMs = block.firstAtMs;
          return false;
        });
      });
    }
    return this.firstAtMs;
  }

  #markBefore(offset: number): Mark {
    const mark = this.#marks.findLast((one) => one.offset <= offset) ?? this.#marks[0];
    if (mark === undefined) throw new Error('Cannot seek in a segment: nothing of it is known');
    return mark;
  }

  #readHeader(fd: number): boolean {
    const bytes = Buffer.allocUnsafe(fileHeaderReadBytes);
    const read = readSync(fd, bytes, 0, bytes.length, 0);
    const decoded = decodeFileHeader(bytes.subarray(0, read));
    if (decoded === undefined) return false;
    this.begin(decoded.header, decoded.bytes);
    return true;
  }

  #walk(
    fd: number,
    from: number,
    to: number,
    chunkBytes: number,
    verify: boolean,
    visit: (bytes: Buffer, at: number, block: Block) => boolean,
  ): void {
    let position = from;
    let wantBytes = chunkBytes;
    while (position < to) {
      const bytes = Buffer.allocUnsafe(Math.min(wantBytes, to - position));
      const held = bytes.subarray(0, readSync(fd, bytes, 0, bytes.length, position));
      let at = 0;
      wantBytes = chunkBytes;
      while (at < held.length) {
        const sight = sightBlock(held, at, verify);
        if (sight === 'corrupt') return;
        if ('needBytes' in sight) {
          wantBytes = Math.max(chunkBytes, sight.needBytes);
          break;
        }
        if (!visit(held, at, sight)) return;
        at += sight.bytes;
      }
      // Everything was read and there is no whole block: the tail is torn, or is being written.
      const all = held.length < bytes.length || bytes.length >= to - position;
      if (at === 0 && all) return;
      position += at;
    }
  }

  #withFile(use: (fd: number) => void): boolean {
    let fd: number;
    try {
      fd = openSync(this.path, 'r');
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return false;
      throw error;
    }
    try {
      use(fd);
    } finally {
      closeSync(fd);
    }
    return true;
  }
}
