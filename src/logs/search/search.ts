/**
 * Owns one search through a log, from its newest lines to its oldest ones, a piece at a time.
 *
 * 1. A step takes about `stepMs`, however long the log is.
 * 2. It ends with as many matches as are wanted, at the start of the log or of the time, or at its bounds. In
 *    each case it says how far it came, so that another search goes on there.
 */
import { TextDecoder } from 'node:util';
import { plainText } from '../../protocol/plain-text.ts';
import { type Block, visitLines } from '../files/block.ts';
import type { LogLine, LogName } from '../files/log.ts';
import type { LogFiles } from '../files/reader.ts';
import { type Matcher, matcherOf, type Wanted } from './matcher.ts';

/** Plain data. */
export interface LogSearch extends Wanted {
  log: LogName;
  /** Only lines written at or after it. */
  sinceMs: number | null;
  /** Only lines written before it. */
  untilMs: number | null;
  /** Where another search came to: only lines before it. */
  before: { generation: string; offset: number } | null;
  matchesMax: number;
  /** Bytes of the lines that are found; one is always given. */
  foundBytesMax: number;
}

export interface LogMatch {
  offset: number;
  atMs: number;
  stream: string;
  text: string;
}

/** Plain data. */
export interface LogSearchResult {
  /** '' for a log that was never written. */
  generation: string;
  /** The newest first. */
  matches: LogMatch[];
  /** Lines before this offset were not looked at; null: all were. */
  nextBefore: number | null;
  /** Lines written at or after it were looked at; null: there are none. */
  scannedToMs: number | null;
}

export interface SearchBounds {
  now: () => number;
  /** Milliseconds after which it says how far it came. */
  searchMs: number;
  /** Bytes after which it does. */
  searchBytes: number;
  /** About how long a step takes. */
  stepMs: number;
}

const pieceBytes = 512 * 1024;

export class RunningSearch {
  readonly #files: LogFiles;
  readonly #search: LogSearch;
  readonly #bounds: SearchBounds;
  readonly #matcher: Matcher;
  readonly #generation: string;
  readonly #endMs: number;
  readonly #from: number;
  #before: number;
  #bytesLeft: number;
  #foundBytes = 0;
  #scannedToMs: number | null = null;
  /** Read and not yet looked at, ascending; those before them were not read. */
  #lines: LogLine[] = [];
  #readFrom = 0;
  #readFromMs: number | null = null;
  readonly #matches: LogMatch[] = [];
  readonly #decoder = new TextDecoder();

  /** Throws BAD_USER_INPUT for what cannot be looked for. */
  constructor(files: LogFiles, search: LogSearch, bounds: SearchBounds) {
    const { log, before, sinceMs, untilMs } = search;
    this.#files = files;
    this.#search = search;
    this.#bounds = bounds;
    this.#matcher = matcherOf(search);
    this.#endMs = bounds.now() + bounds.searchMs;
    this.#bytesLeft = bounds.searchBytes;
    const range = files.range(log);
    this.#generation = range?.generation ?? '';
    this.#from = range?.firstOffset ?? 0;
    this.#before = range?.nextOffset ?? 0;
    if (!range) return;
    if (sinceMs !== null) this.#from = Math.max(this.#from, files.offsetAt(log, sinceMs));
    if (before !== null) {
      // Lines of another generation are gone, and those before them, too.
      this.#before = before.generation === this.#generation ? before.offset : this.#from;
    } else if (untilMs !== null) {
      this.#before = files.offsetAt(log, untilMs);
    }
  }

  /** Goes on for a step; the result when it has ended. */
  step(): LogSearchResult | null {
    const untilMs = this.#bounds.now() + this.#bounds.stepMs;
    while (this.#before > this.#from && !this.#isFull()) {
      const line = this.#lines.pop();
      if (line) this.#look(line);
      else if (this.#bytesLeft <= 0) break;
      else this.#read();
      const nowMs = this.#bounds.now();
      if (nowMs >= this.#endMs) break;
      if (nowMs >= untilMs) return null;
    }
    return {
      generation: this.#generation,
      matches: this.#matches,
      nextBefore: this.#before > this.#from ? this.#before : null,
      scannedToMs: this.#scannedToMs,
    };
  }

  #isFull(): boolean {
    const { matchesMax, foundBytesMax } = this.#search;
    return this.#matches.length >= matchesMax || this.#foundBytes >= foundBytesMax;
  }

  /** Reads the lines before, those of them that may match. */
  #read(): void {
    const end = this.#before;
    const lines: LogLine[] = [];
    let firstAtMs: number | null = null;
    const read = (bytes: Buffer, at: number, block: Block): void => {
      this.#bytesLeft -= block.bytes;
      firstAtMs ??= block.firstAtMs;
      if (!this.#matcher.mayHold(bytes.subarray(at, at + block.bytes))) return;
      visitLines(bytes, at, block, (line) => {
        if (line.offset < end && line.offset >= this.#from) lines.push(line);
        return true;
      });
    };
    const from = this.#files.visitBlocksBefore(this.#search.log, end, pieceBytes, read);
    this.#lines = lines;
    this.#readFromMs = firstAtMs;
    this.#readFrom = from ?? this.#from;
    if (lines.length === 0) this.#endPiece();
  }

  #look(line: LogLine): void {
    this.#before = line.offset;
    this.#scannedToMs = line.atMs;
    this.#judge(line);
    if (this.#lines.length === 0 && !this.#isFull()) this.#endPiece();
  }

  /** Between its lines and its start there is nothing that matches. */
  #endPiece(): void {
    this.#before = Math.min(this.#before, this.#readFrom);
    this.#scannedToMs = this.#readFromMs ?? this.#scannedToMs;
  }

  #judge(line: LogLine): void {
    const { sinceMs, untilMs } = this.#search;
    const { offset, atMs, stream, bytes } = line;
    if ((sinceMs !== null && atMs < sinceMs) || (untilMs !== null && atMs >= untilMs)) return;
    const text = this.#decoder.decode(bytes).replace(/\r?\n$/, '');
    if (!this.#matcher.matches(plainText(text))) return;
    this.#matches.push({ offset, atMs, stream, text });
    this.#foundBytes += bytes.length;
  }
}
