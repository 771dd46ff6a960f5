/**
 * Owns reading logs on a thread that does not write them. The index names the segments, and the files
 * say what is in them.
 *
 * 1. Nothing of the writer's memory is needed. The end of a log is found in its last file. A segment
 *    that the index does not know yet is found by its name, which follows from that end.
 * 2. It never writes. What it remembers of files is bounded.
 */
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Reader } from '../../store/reader-and-journal.ts';
import { tables } from '../../store/records/tables.ts';
import type { LogLine, LogName, LogRange, LogReader, LogSlice } from './log.ts';
import { SegmentFile, logFolder, parseSegmentFileName } from './segment-file.ts';
import { lastOfSource, offsetAtTime, readSegments } from './segments.ts';
import { LogTail } from './tail.ts';

export interface LogReaderOptions {
  /** The logs' folder in the data directory. */
  dir: string;
  reader: Pick<Reader, 'list'>;
  /** How many segments' positions are remembered; default 64. */
  segmentsMax?: number;
}

export interface LogFileReader extends LogReader {
  /** A tail that reads the lines stored from now on; undefined for a log that was never written. */
  tail(log: LogName): LogTail | undefined;
}

/** Reads logs on any thread, also while they grow. */
export function openLogReader(options: LogReaderOptions): LogFileReader {
  return new FileLogReader(options);
}

class FileLogReader implements LogFileReader {
  readonly #dir: string;
  readonly #reader: Pick<Reader, 'list'>;
  readonly #segmentsMax: number;
  readonly #known = new Map<string, SegmentFile>();

  constructor(options: LogReaderOptions) {
    this.#dir = options.dir;
    this.#reader = options.reader;
    this.#segmentsMax = options.segmentsMax ?? 64;
  }

  range(log: LogName): LogRange | undefined {
    const segments = this.#segments(log);
    const [first, last] = [segments[0], segments.at(-1)];
    if (first === undefined || last === undefined) return undefined;
    return {
      generation: last.generation,
      firstOffset: first.firstOffset,
      nextOffset: last.nextOffset,
    };
  }

  read(log: LogName, from: number, limit: number, maxBytes?: number): LogSlice {
    return readSegments(this.#segments(log), from, limit, maxBytes);
  }

  offsetAt(log: LogName, atMs: number): number {
    return offsetAtTime(this.#segments(log), atMs);
  }

  lastOf(log: LogName, sourceId: string, beforeMs: number, count: number): LogLine[] {
    return lastOfSource(this.#segments(log), sourceId, beforeMs, count);
  }

  tail(log: LogName): LogTail | undefined {
    const last = this.#segments(log).at(-1);
    // A segment whose header is still being written has no end yet.
    if (last === undefined || last.endBytes === 0) return undefined;
    return new LogTail(join(this.#dir, logFolder(log)), last);
  }

  #segments(log: LogName): SegmentFile[] {
    const folder = join(this.#dir, logFolder(log));
    const records = this.#reader.list(tables.segments, 'log', [log], { limit: 100_000 });
    const generation = records.at(-1)?.generation;
    let segments =
      generation === undefined
        ? this.#fromFolder(folder)
        : records
            .filter((record) => record.generation === generation)
            .map((record) => this.#segment(folder, generation, record.firstOffset));
    // The newest file is removed only with the whole log. Then the index is out of date, and does not
    // know what was written since.
    if (segments.at(-1)?.scan() === false) segments = this.#fromFolder(folder);
    for (let last = segments.at(-1); last !== undefined;) {
      if (!last.scan()) segments.pop();
      if (last.lines === 0) break;
      const next = this.#segment(folder, last.generation, last.nextOffset);
      if (!next.scan()) {
        this.#known.delete(next.path);
        break;
      }
      segments.push(next);
      last = next;
    }
    return segments;
  }

  /** For a log that the index does not know yet. */
  #fromFolder(folder: string): SegmentFile[] {
    let names: string[];
    try {
      names = readdirSync(folder);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
      throw error;
    }
    const found = names.flatMap((name) => parseSegmentFileName(name) ?? []);
    const newest = found.reduce((a, b) => (b.generation > a ? b.generation : a), '');
    return found
      .filter((name) => name.generation === newest)
      .sort((a, b) => a.firstOffset - b.firstOffset)
      .map((name) => this.#segment(folder, name.generation, name.firstOffset));
  }

  #segment(folder: string, generation: string, firstOffset: number): SegmentFile {
    const fresh = new SegmentFile(folder, generation, firstOffset);
    const segment = this.#known.get(fresh.path) ?? fresh;
    this.#known.delete(segment.path);
    this.#known.set(segment.path, segment);
    if (this.#known.size > this.#segmentsMax) {
      const [oldest] = this.#known.keys();
      if (oldest !== undefined) this.#known.delete(oldest);
    }
    return segment;
  }
}
