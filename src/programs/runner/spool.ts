/**
 * Owns the log of one workload until someone has stored it elsewhere: a folder of append-only files
 * `<first sequence number>.log`.
 *
 * 1. An entry handed to a reader is in its file, so it survives the runner's death.
 * 2. Sequence numbers ascend by one and are never given twice, also over a restart of the runner.
 * 3. The folder holds at most `maxBytes`: beyond it the oldest file goes, and the numbers tell.
 * 4. Memory does not grow with what is spooled.
 */
import fs from 'node:fs';
import path from 'node:path';

import { writeAllSync } from '../../lib/write-all.ts';
import { scanRecords } from '../../protocol/log-records.ts';

export interface SpoolOptions {
  dir: string;
  /** All files of the workload together. */
  maxBytes: number;
  /** A new file begins beyond this size. */
  fileBytes: number;
  /** Of the first entry where there is no file; default 1. */
  firstSeq?: number;
}

export interface SpoolSlice {
  firstSeq: number;
  records: Buffer;
}

interface SpoolFile {
  firstSeq: number;
  count: number;
  bytes: number;
}

/** Where the last read ended, so that the next one need not look for it. */
interface Place {
  seq: number;
  file: SpoolFile;
  offset: number;
}

const suffix = '.log';
/** Entries of one read: each costs something, however short. */
const readRecordsMax = 2048;

export class Spool {
  readonly #options: SpoolOptions;
  /** Oldest first; the last one is written to. Never empty. */
  readonly #files: SpoolFile[];
  #fd: number;
  #place: Place | undefined;
  #totalBytes = 0;

  constructor(options: SpoolOptions) {
    this.#options = options;
    fs.mkdirSync(options.dir, { recursive: true, mode: 0o700 });
    this.#files = recoverFiles(options.dir);
    if (this.#files.length === 0) {
      this.#files.push({ firstSeq: options.firstSeq ?? 1, count: 0, bytes: 0 });
    }
    this.#fd = this.#open(this.#last);
    for (const file of this.#files) this.#totalBytes += file.bytes;
  }

  /** Of the newest entry; 0 when there never was one. */
  get lastSeq(): number {
    const last = this.#last;
    return last.firstSeq + last.count - 1;
  }

  get totalBytes(): number {
    return this.#totalBytes;
  }

  /** Writes whole records, `count` of them. Throws what the file system throws. */
  append(records: Buffer, count: number): void {
    if (count === 0) return;
    if (this.#last.bytes >= this.#options.fileBytes) this.#rotate();
    const last = this.#last;
    try {
      writeAllSync(this.#fd, records, null);
    } catch (error) {
      // Half a record must not stand before the next one.
      fs.ftruncateSync(this.#fd, last.bytes);
      throw error;
    }
    last.bytes += records.length;
    last.count += count;
    this.#totalBytes += records.length;
    while (this.#totalBytes > this.#options.maxBytes && this.#files.length > 1) this.#dropOldest();
  }

  /** Some entries behind `afterSeq`, at least one when there is any, else at most `maxBytes`. */
  read(afterSeq: number, maxBytes: number): SpoolSlice | undefined {
    if (afterSeq >= this.lastSeq) return undefined;
    const oldest = this.#files[0];
    const seq = Math.max(afterSeq + 1, oldest?.firstSeq ?? 1);
    const file = this.#files.findLast((candidate) => candidate.firstSeq <= seq);
    if (!file || seq >= file.firstSeq + file.count) return undefined;
    const fd = fs.openSync(this.#pathOf(file), 'r');
    try {
      const offset = this.#find(fd, file, seq);
      // One record more than `maxBytes` always fits, so that a read never comes back empty.
      const buffer = Buffer.allocUnsafe(Math.min(maxBytes + 32 * 1024, file.bytes - offset));
      readFully(fd, buffer, offset);
      const { count, end } = scanRecords(buffer, readRecordsMax);
      this.#place = { seq: seq + count, file, offset: offset + end };
      return { firstSeq: seq, records: buffer.subarray(0, end) };
    } finally {
      fs.closeSync(fd);
    }
  }

  /** Bytes behind an entry, to within one file. */
  bytesBehind(seq: number): number {
    let behind = 0;
    for (const file of this.#files) {
      const fileEnd = file.firstSeq + file.count;
      if (seq < file.firstSeq) behind += file.bytes;
      else if (seq < fileEnd - 1) {
        behind +=
          this.#place?.file === file && this.#place.seq === seq + 1
            ? file.bytes - this.#place.offset
            : Math.round((file.bytes * (fileEnd - 1 - seq)) / file.count);
      }
    }
    return behind;
  }

  /** Drops whole files that hold nothing behind `seq`. */
  acknowledge(seq: number): void {
    while (this.#files.length > 1) {
      const oldest = this.#files[0];
      if (!oldest || oldest.firstSeq + oldest.count - 1 > seq) return;
      this.#dropOldest();
    }
  }

  close(): void {
    fs.closeSync(this.#fd);
  }

  get #last(): SpoolFile {
    const last = this.#files.at(-1);
    if (!last) throw new Error('Cannot write log: the spool has no file');
    return last;
  }

  #pathOf(file: SpoolFile): string {
    return path.join(this.#options.dir, `${String(file.firstSeq)}${suffix}`);
  }

  #open(file: SpoolFile): number {
    return fs.openSync(this.#pathOf(file), 'a', 0o600);
  }

  #rotate(): void {
    const next = { firstSeq: this.lastSeq + 1, count: 0, bytes: 0 };
    // Opened first: where that fails, the number of the old one must not be left to another file.
    const fd = this.#open(next);
    fs.closeSync(this.#fd);
    this.#fd = fd;
    this.#files.push(next);
  }

  #dropOldest(): void {
    const oldest = this.#files.shift();
    if (!oldest) return;
    if (this.#place?.file === oldest) this.#place = undefined;
    this.#totalBytes -= oldest.bytes;
    fs.rmSync(this.#pathOf(oldest), { force: true });
  }

  /** Byte offset of an entry that is in the file. */
  #find(fd: number, file: SpoolFile, seq: number): number {
    const known = this.#place;
    const start =
      known?.file === file && known.seq <= seq ? known : { seq: file.firstSeq, offset: 0 };
    let offset = start.offset;
    let at = start.seq;
    const window = Buffer.allocUnsafe(256 * 1024);
    while (at < seq) {
      const part = window.subarray(0, Math.min(window.length, file.bytes - offset));
      readFully(fd, part, offset);
      const { count, end } = scanRecords(part, seq - at);
      if (count === 0) throw new Error('Cannot read log: the spool file is damaged');
      at += count;
      offset += end;
    }
    return offset;
  }
}

function readFully(fd: number, buffer: Buffer, offset: number): void {
  let read = 0;
  while (read < buffer.length) {
    const got = fs.readSync(fd, buffer, read, buffer.length - read, offset + read);
    if (got === 0) throw new Error('Cannot read log: the spool file is shorter than it was');
    read += got;
  }
}

/** Finds what an earlier runner left; cuts the record it was writing when it died. */
function recoverFiles(dir: string): SpoolFile[] {
  const firstSeqs = fs
    .readdirSync(dir)
    .filter((name) => /^[1-9]\d*\.log$/.test(name))
    .map((name) => Number(name.slice(0, -suffix.length)))
    .sort((a, b) => a - b);
  return firstSeqs.map((firstSeq) => {
    const file = path.join(dir, `${String(firstSeq)}${suffix}`);
    const bytes = fs.readFileSync(file);
    const { count, end } = scanRecords(bytes);
    if (end < bytes.length) fs.truncateSync(file, end);
    return { firstSeq, count, bytes: end };
  });
}
