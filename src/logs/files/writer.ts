/**
 * Owns writing logs: which logs are open, what goes into the index, what retention removes.
 *
 * 1. An append is in the file when it returns; `sync` tells when it is on disk.
 * 2. The index follows the files, never the other way. A commit of the index that fails is tried again,
 *    and nobody waits for it.
 * 3. The number of open logs is bounded: the one unused for longest is closed, and read again when it
 *    is needed.
 */
import { randomBytes } from 'node:crypto';
import { rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Clock } from '../../lib/clock.ts';
import { systemClock } from '../../lib/clock.ts';
import { ServiceError } from '../../lib/errors.ts';
import type { Logger } from '../../lib/log.ts';
import type { Reader } from '../../store/reader-and-journal.ts';
import type { SegmentRecord } from '../../store/records/records.ts';
import { put, remove } from '../../store/records/table.ts';
import type { Change } from '../../store/records/table.ts';
import { tables } from '../../store/records/tables.ts';
import type { LogLine, LogName, LogRange, LogSlice, LogSource, LogWriter } from './log.ts';
import { OpenLog, listSegmentFiles } from './open-log.ts';
import type { WriteSync } from './open-log.ts';
import { segmentsToDrop } from './retention.ts';
import { logFolder, segmentFileName } from './segment-file.ts';
import type { SegmentFile } from './segment-file.ts';
import { lastOfSource, offsetAtTime, readSegments } from './segments.ts';

const commitRetryMs = 1_000;
const diskFullCodes = new Set(['ENOSPC', 'EDQUOT', 'EFBIG']);

export interface LogWriterOptions {
  /** The logs' folder in the data directory; made when missing. */
  dir: string;
  reader: Pick<Reader, 'list' | 'scan'>;
  /** Commits changes of the index, by way of an actor. */
  commitIndex: (changes: Change[]) => Promise<unknown>;
  logger: Logger;
  clock?: Clock;
  /** Length at which a segment is full; default 4 MiB. */
  segmentBytes?: number;
  /** Logs held open at a time; default 256. */
  openMax?: number;
  writeSync?: WriteSync;
}

/** The one writer of logs in a process. */
export function openLogWriter(options: LogWriterOptions): LogWriter {
  return new FileLogWriter(options);
}

class FileLogWriter implements LogWriter {
  readonly #options: LogWriterOptions;
  readonly #clock: Clock;
  readonly #open = new Map<LogName, OpenLog>();
  #changes: Change[] = [];
  #committing: Promise<void> | undefined;
  #closed = false;

  constructor(options: LogWriterOptions) {
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
  }

  append(log: LogName, lines: readonly Omit<LogLine, 'offset'>[], source?: LogSource): number {
    if (this.#closed) throw new Error('Cannot append to a log: the writer is closed');
    const open = this.#at(log);
    if (lines.length === 0) return open.nextOffset;
    try {
      return open.append(lines, source);
    } catch (error) {
      if (diskFullCodes.has((error as NodeJS.ErrnoException).code ?? '')) {
        throw new ServiceError('STORAGE_FULL', 'The disk of the server is full.', { cause: error });
      }
      throw error;
    }
  }

  lastSeq(log: LogName, sourceId: string): number {
    return this.#existing(log)?.lastSeq(sourceId) ?? 0;
  }

  async sync(log: LogName): Promise<void> {
    await this.#open.get(log)?.sync();
  }

  range(log: LogName): LogRange | undefined {
    const segments = this.#existing(log)?.segments;
    const [first, last] = [segments?.[0], segments?.at(-1)];
    if (first === undefined || last === undefined) return undefined;
    return {
      generation: last.generation,
      firstOffset: first.firstOffset,
      nextOffset: last.nextOffset,
    };
  }

  read(log: LogName, from: number, limit: number, maxBytes?: number): LogSlice {
    return readSegments(this.#existing(log)?.segments ?? [], from, limit, maxBytes);
  }

  offsetAt(log: LogName, atMs: number): number {
    return offsetAtTime(this.#existing(log)?.segments ?? [], atMs);
  }

  lastOf(log: LogName, sourceId: string, beforeMs: number, count: number): LogLine[] {
    return lastOfSource(this.#existing(log)?.segments ?? [], sourceId, beforeMs, count);
  }

  async retain(limits: { maxAgeMs: number; quotaBytes: number }): Promise<void> {
    await this.#flushIndex();
    const oldestMs = this.#clock.now() - limits.maxAgeMs;
    for (const [log, records] of this.#indexed()) {
      const lastAtMs = await this.#lastWriteMs(log, records);
      const drop = segmentsToDrop(records, lastAtMs, { oldestMs, quotaBytes: limits.quotaBytes });
      if (drop === 0) continue;
      const all = drop === records.length;
      // A build's log has ended and goes whole. A log that may still grow keeps its offsets and its
      // sources.
      if (all && log.startsWith('build:')) await this.drop(log);
      else this.#dropOldest(log, records.slice(0, drop), all);
    }
    await this.#flushIndex();
  }

  async drop(log: LogName): Promise<void> {
    const open = this.#open.get(log);
    if (open !== undefined) {
      this.#open.delete(log);
      // What is to be removed is removed even when the disk refuses to sync.
      await open.sync().catch(() => undefined);
      open.close();
    }
    const records = this.#options.reader.list(tables.segments, 'log', [log], { limit: 100_000 });
    const offsets = new Set(records.map((record) => record.firstOffset));
    for (const segment of open?.segments ?? []) offsets.add(segment.firstOffset);
    await rm(join(this.#options.dir, logFolder(log)), { recursive: true, force: true });
    this.#index([...offsets].map((offset) => remove(tables.segments, [log, offset])));
    await this.#flushIndex();
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    for (const [log, open] of this.#open) {
      try {
        await open.sync();
      } catch (error) {
        this.#options.logger.error({ log, err: error }, 'log_sync_failed');
      }
      for (const segment of open.segments.slice(-1)) this.#indexSegment(log, segment);
      open.close();
    }
    this.#open.clear();
    await this.#flushIndex();
  }

  /** The log as it is on disk; undefined when it was never written. Creates nothing. */
  #existing(log: LogName): OpenLog | undefined {
    const open = this.#open.get(log);
    if (open !== undefined) return open;
    if (this.#closed) return undefined;
    if (listSegmentFiles(join(this.#options.dir, logFolder(log))).length === 0) return undefined;
    return this.#at(log);
  }

  #at(log: LogName): OpenLog {
    const held = this.#open.get(log);
    if (held !== undefined) {
      this.#open.delete(log);
      this.#open.set(log, held);
      return held;
    }
    const open = new OpenLog({
      dir: this.#options.dir,
      log,
      segmentBytes: this.#options.segmentBytes ?? 4 * 1024 * 1024,
      now: () => this.#clock.now(),
      newGeneration: () => newGeneration(this.#clock.now()),
      onSegment: (segment) => this.#indexSegment(log, segment),
      ...(this.#options.writeSync && { writeSync: this.#options.writeSync }),
    });
    this.#open.set(log, open);
    this.#closeUnused();
    this.#repairIndex(log, open);
    return open;
  }

  #closeUnused(): void {
    if (this.#open.size <= (this.#options.openMax ?? 256)) return;
    for (const [log, open] of this.#open) {
      if (!open.settled) continue;
      open.close();
      this.#open.delete(log);
      return;
    }
  }

  /** Makes the index say what the files say. */
  #repairIndex(log: LogName, open: OpenLog): void {
    const records = this.#options.reader.list(tables.segments, 'log', [log], { limit: 100_000 });
    const known = new Map(records.map((record) => [record.firstOffset, record]));
    for (const segment of open.segments) {
      const record = known.get(segment.firstOffset);
      known.delete(segment.firstOffset);
      if (record?.generation === segment.generation) continue;
      segment.scan();
      this.#indexSegment(log, segment);
    }
    this.#index([...known.keys()].map((offset) => remove(tables.segments, [log, offset])));
  }

  #indexSegment(log: LogName, segment: SegmentFile): void {
    const atMs = segment.header?.createdAtMs ?? this.#clock.now();
    const record: SegmentRecord = {
      log,
      generation: segment.generation,
      firstOffset: segment.firstOffset,
      firstAtMs: segment.firstAtMs ?? atMs,
      lastAtMs: segment.lastAtMs ?? atMs,
      lines: segment.lines,
      sizeBytes: segment.endBytes,
      file: `${logFolder(log)}/${segmentFileName(segment.generation, segment.firstOffset)}`,
    };
    this.#index([put(tables.segments, record)]);
  }

  #index(changes: Change[]): void {
    if (changes.length === 0) return;
    this.#changes.push(...changes);
    // One commit for all segments of this turn of the loop. `#commit` logs a failure and tries again.
    queueMicrotask(() => void this.#flushIndex());
  }

  async #flushIndex(): Promise<void> {
    while (this.#committing !== undefined) await this.#committing;
    if (this.#changes.length === 0) return;
    const changes = this.#changes;
    this.#changes = [];
    this.#committing = this.#commit(changes);
    await this.#committing;
  }

  async #commit(changes: Change[]): Promise<void> {
    try {
      await this.#options.commitIndex(changes);
    } catch (error) {
      this.#changes = [...changes, ...this.#changes];
      this.#options.logger.error(
        { err: error, changes: changes.length },
        'log_index_commit_failed',
      );
      if (!this.#closed) this.#clock.after(commitRetryMs, () => void this.#flushIndex());
    } finally {
      this.#committing = undefined;
    }
  }

  #indexed(): Map<LogName, SegmentRecord[]> {
    const logs = new Map<LogName, SegmentRecord[]>();
    for (const record of this.#options.reader.scan(tables.segments)) {
      const log = record.log as LogName;
      const records = logs.get(log);
      if (records === undefined) logs.set(log, [record]);
      else records.push(record);
    }
    for (const records of logs.values()) records.sort((a, b) => a.firstOffset - b.firstOffset);
    return logs;
  }

  /**
   * When the last segment was last written to. The index does not know that while the segment grows.
   */
  async #lastWriteMs(log: LogName, records: readonly SegmentRecord[]): Promise<number> {
    const last = records.at(-1);
    if (last === undefined) return 0;
    const open = this.#open.get(log)?.segments.at(-1);
    if (open !== undefined) return open.lastAtMs ?? this.#clock.now();
    try {
      return (await stat(join(this.#options.dir, last.file))).mtimeMs;
    } catch {
      // The file is gone; its record is removed with the others.
      return last.lastAtMs;
    }
  }

  #dropOldest(log: LogName, records: readonly SegmentRecord[], all: boolean): void {
    const open = this.#at(log);
    const last = open.segments.at(-1);
    if (all) {
      // A segment without lines has nothing to drop.
      if (last === undefined || last.lines > 0) open.roll();
      else if (open.segments.length === 1) return;
    }
    const behind = records.at(-1)?.firstOffset ?? 0;
    const count = open.segments.slice(0, -1).filter((s) => s.firstOffset <= behind).length;
    const dropped = open.dropOldest(count);
    this.#index(dropped.map((segment) => remove(tables.segments, [log, segment.firstOffset])));
    this.#options.logger.info({ log, segments: dropped.length }, 'log_segments_dropped');
  }
}

/** Begins with the time, so that later generations sort behind earlier ones. */
function newGeneration(nowMs: number): string {
  const chance = randomBytes(4).readUInt32LE(0).toString(36).padStart(7, '0');
  return `${Math.max(0, nowMs).toString(36).padStart(9, '0')}${chance}`;
}
