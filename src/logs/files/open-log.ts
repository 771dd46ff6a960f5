/**
 * Owns one log while it is written: its segments in order, the open file, and what is on disk.
 *
 * 1. The files are the truth: they are read again when the log opens, and a torn tail is cut off.
 * 2. An append is one write. When the disk refuses it, nothing of it stays.
 * 3. The header of a new segment has the last entry number of each recent source.
 */
import {
  closeSync,
  fdatasync,
  ftruncateSync,
  fsync,
  mkdirSync,
  openSync,
  truncateSync,
  unlinkSync,
  writeSync as fsWriteSync,
} from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { encodeBlock, encodeFileHeader, sightBlock } from './block.ts';
import type { LogLine, LogName, LogSource } from './log.ts';
import { SegmentFile, listSegments, logFolder } from './segment-file.ts';

const dataSync = promisify(fdatasync);
const fullSync = promisify(fsync);
const sourcesMax = 32;
/** Offset of a log's very first line; 0 is the cursor in front of it. */
export const firstLineOffset = 1;

export type WriteSync = (fd: number, bytes: Buffer, from: number, length: number) => number;

export interface OpenLogOptions {
  dir: string;
  log: LogName;
  segmentBytes: number;
  now: () => number;
  /** Names a generation. Names of later ones sort behind those of earlier ones. */
  newGeneration: () => string;
  writeSync?: WriteSync;
  /** For blocks on their way to the file, which otherwise are garbage as large as all that is logged. */
  scratch: Buffer;
}

export class OpenLog {
  readonly log: LogName;
  readonly segments: SegmentFile[] = [];
  readonly #options: OpenLogOptions;
  readonly #folder: string;
  readonly #writeSync: WriteSync;
  readonly #sources = new Map<string, number>();
  #fd: number | undefined;
  /** Files that are full and not yet known to be on disk. */
  #retired: number[] = [];
  /** Files from before the opening. Nobody knows how much of them is on disk. */
  #unsure: string[] = [];
  #folderDirty = false;
  #appends = 0;
  #syncedAppends = 0;
  #syncing: Promise<void> | undefined;

  constructor(options: OpenLogOptions) {
    this.log = options.log;
    this.#options = options;
    this.#folder = join(options.dir, logFolder(options.log));
    this.#writeSync =
      options.writeSync ?? ((fd, b, from, length) => fsWriteSync(fd, b, from, length));
    this.#recover();
  }

  get nextOffset(): number {
    return this.segments.at(-1)?.nextOffset ?? firstLineOffset;
  }

  /** Whether everything appended is on disk and nothing is under way. */
  get settled(): boolean {
    return this.#syncing === undefined && this.#syncedAppends === this.#appends;
  }

  lastSeq(sourceId: string): number {
    return this.#sources.get(sourceId) ?? 0;
  }

  append(lines: readonly Omit<LogLine, 'offset'>[], source: LogSource | undefined): number {
    const firstOffset = this.nextOffset;
    const bytes = encodeBlock(firstOffset, lines, source, this.#options.scratch);
    const active = this.segments.at(-1);
    const full =
      active === undefined ||
      (active.lines > 0 && active.endBytes + bytes.length > this.#options.segmentBytes);
    const segment = full ? this.roll() : active;
    this.#write(segment, bytes);
    const block = sightBlock(bytes, 0, false);
    if (block === 'corrupt' || 'needBytes' in block) throw new Error('Cannot read own block');
    segment.push(block);
    if (source !== undefined) this.#remember(source.id, source.seq);
    this.#appends++;
    return firstOffset;
  }

  /** Begins a new segment, so that all earlier ones may be dropped. */
  roll(): SegmentFile {
    const active = this.segments.at(-1);
    const generation = active?.generation ?? this.#options.newGeneration();
    const segment = new SegmentFile(this.#folder, generation, this.nextOffset);
    const header = {
      generation,
      firstOffset: segment.firstOffset,
      createdAtMs: this.#options.now(),
      sources: [...this.#sources],
    };
    const bytes = encodeFileHeader(header);
    mkdirSync(this.#folder, { recursive: true, mode: 0o700 });
    const fd = openSync(segment.path, 'ax', 0o600);
    try {
      this.#writeAll(fd, bytes);
    } catch (error) {
      closeSync(fd);
      unlinkSync(segment.path);
      throw error;
    }
    if (this.#fd !== undefined) this.#retired.push(this.#fd);
    this.#fd = fd;
    this.#folderDirty = true;
    segment.begin(header, bytes.length);
    segment.owned = true;
    this.segments.push(segment);
    this.#appends++;
    return segment;
  }

  /** Resolves when everything appended so far is on disk. Callers at the same time share one sync. */
  async sync(): Promise<void> {
    const target = this.#appends;
    while (this.#syncedAppends < target) {
      this.#syncing ??= this.#syncNow().finally(() => {
        this.#syncing = undefined;
      });
      await this.#syncing;
    }
  }

  /** Removes the oldest segments from memory and from disk. */
  dropOldest(count: number): void {
    for (const segment of this.segments.splice(0, count)) unlinkIfThere(segment.path);
  }

  /** Closes the files; call it when settled. */
  close(): void {
    for (const fd of this.#retired) closeSync(fd);
    this.#retired = [];
    if (this.#fd !== undefined) closeSync(this.#fd);
    this.#fd = undefined;
  }

  #recover(): void {
    const { newest, others } = listSegments(this.#folder);
    this.segments.push(...newest);
    // An older generation is left over from a removal that was cut short.
    for (const file of others) unlinkIfThere(file.path);
    for (let last = this.segments.at(-1); last !== undefined; last = this.segments.at(-1)) {
      last.scan((block) => {
        if (block.source !== undefined) this.#remember(block.source.id, block.source.seq);
      });
      if (last.endBytes > 0) break;
      // Its header was torn: nothing was ever in it.
      unlinkIfThere(last.path);
      this.segments.pop();
    }
    const active = this.segments.at(-1);
    if (active === undefined) return;
    const behind = [...this.#sources];
    this.#sources.clear();
    for (const [id, seq] of [...(active.header?.sources ?? []), ...behind]) this.#remember(id, seq);
    truncateSync(active.path, active.endBytes);
    active.owned = true;
    this.#unsure = this.segments.slice(-2).map((segment) => segment.path);
    this.#folderDirty = true;
    this.#appends++;
  }

  #write(segment: SegmentFile, bytes: Buffer): void {
    this.#fd ??= openSync(segment.path, 'a', 0o600);
    try {
      this.#writeAll(this.#fd, bytes);
    } catch (error) {
      // Removes what was written of the block, so that the next block follows the last whole one.
      ftruncateSync(this.#fd, segment.endBytes);
      throw error;
    }
  }

  #writeAll(fd: number, bytes: Buffer): void {
    for (let at = 0; at < bytes.length;) at += this.#writeSync(fd, bytes, at, bytes.length - at);
  }

  async #syncNow(): Promise<void> {
    const target = this.#appends;
    const unsure = this.#unsure.map((path) => openSync(path, 'r'));
    this.#unsure = [];
    const retired = [...this.#retired, ...unsure];
    this.#retired = [];
    try {
      for (const fd of retired) await dataSync(fd);
      if (this.#fd !== undefined) await dataSync(this.#fd);
      if (this.#folderDirty) {
        this.#folderDirty = false;
        await this.#syncFolder();
      }
    } catch (error) {
      this.#retired.unshift(...retired);
      throw error;
    }
    for (const fd of retired) closeSync(fd);
    this.#syncedAppends = target;
  }

  async #syncFolder(): Promise<void> {
    const fd = openSync(this.#folder, 'r');
    try {
      await fullSync(fd);
    } finally {
      closeSync(fd);
    }
  }

  #remember(id: string, seq: number): void {
    this.#sources.delete(id);
    this.#sources.set(id, seq);
    if (this.#sources.size > sourcesMax) {
      const [oldest] = this.#sources.keys();
      if (oldest !== undefined) this.#sources.delete(oldest);
    }
  }
}

function unlinkIfThere(path: string): void {
  try {
    unlinkSync(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
  }
}
