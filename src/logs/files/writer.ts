/**
 * Owns writing logs: which logs are open, and what retention removes.
 *
 * 1. An append is in the file when it returns; `sync` tells when it is on disk.
 * 2. The number of open logs is bounded: the one unused for longest is closed, and read again when it
 *    is needed.
 * 3. Retention removes whole segments, always the oldest.
 */
import { randomBytes } from 'node:crypto';
import { rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { type Clock, systemClock } from '../../lib/clock.ts';
import { ServiceError } from '../../lib/errors.ts';
import type { Logger } from '../../lib/log.ts';
import type { LogLine, LogName, LogSource } from './log.ts';
import { OpenLog, type WriteSync } from './open-log.ts';
import { listSegments, logFolder, logOfFolder, namesIn, type SegmentFile } from './segment-file.ts';
import { SegmentReader } from './segments.ts';

/** A block of a feed, with the heads of its lines where they are not very short. */
const scratchBytes = 96 * 1024;

const diskFullCodes = new Set(['ENOSPC', 'EDQUOT', 'EFBIG']);

export interface LogWriterOptions {
  /** The logs' folder in the data directory; made when missing. */
  dir: string;
  logger: Logger;
  clock?: Clock;
  /** Length at which a segment is full; default 4 MiB. */
  segmentBytes?: number;
  /** Logs held open at a time; default 256. */
  openMax?: number;
  writeSync?: WriteSync;
}

/** The one writer of logs in a process. */
export class LogWriter extends SegmentReader {
  readonly #options: LogWriterOptions;
  readonly #clock: Clock;
  readonly #open = new Map<LogName, OpenLog>();
  #scratch: Buffer | undefined;
  #closed = false;

  constructor(options: LogWriterOptions) {
    super();
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
  }

  /** Appends to the file at once; returns the offset of the first line. Throws STORAGE_FULL. */
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

  /** The last entry of a source that is in the file, 0 for none; true also after kill -9. */
  lastSeq(log: LogName, sourceId: string): number {
    return this.#existing(log)?.lastSeq(sourceId) ?? 0;
  }

  /** Resolves when everything appended so far is on disk. */
  async sync(log: LogName): Promise<void> {
    await this.#open.get(log)?.sync();
  }

  /** Drops segments older than `maxAgeMs` and the oldest beyond `quotaBytes` a log. */
  async retain({ maxAgeMs, quotaBytes }: { maxAgeMs: number; quotaBytes: number }): Promise<void> {
    const limits = { oldestMs: this.#clock.now() - maxAgeMs, quotaBytes };
    for (const folder of namesIn(this.#options.dir)) {
      const log = logOfFolder(folder);
      if (log === undefined) continue;
      const segments = await this.#measured(log);
      const drop = segmentsToDrop(segments, limits);
      const last = segments[drop - 1];
      if (last === undefined) continue;
      const all = drop === segments.length;
      // A build's log has ended and goes whole. A log that may still grow keeps its offsets and its
      // sources.
      if (all && log.startsWith('build:')) await this.drop(log);
      else this.#dropOldest(log, last.firstOffset, all);
    }
  }

  /** Removes the whole log. */
  async drop(log: LogName): Promise<void> {
    const open = this.#open.get(log);
    if (open !== undefined) {
      this.#open.delete(log);
      // What is to be removed is removed even when the disk refuses to sync.
      await open.sync().catch(() => undefined);
      open.close();
    }
    await rm(join(this.#options.dir, logFolder(log)), { recursive: true, force: true });
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
      open.close();
    }
    this.#open.clear();
  }

  protected segmentsOf(log: LogName): readonly SegmentFile[] {
    return this.#existing(log)?.segments ?? [];
  }

  /** The log as it is on disk; undefined when it was never written. Creates nothing. */
  #existing(log: LogName): OpenLog | undefined {
    const open = this.#open.get(log);
    if (open !== undefined) return open;
    if (this.#closed) return undefined;
    const { newest } = listSegments(join(this.#options.dir, logFolder(log)));
    return newest.length === 0 ? undefined : this.#at(log);
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
      scratch: (this.#scratch ??= Buffer.allocUnsafeSlow(scratchBytes)),
      ...(this.#options.writeSync && { writeSync: this.#options.writeSync }),
    });
    this.#open.set(log, open);
    this.#closeUnused();
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

  async #measured(log: LogName): Promise<MeasuredSegment[]> {
    const measured: MeasuredSegment[] = [];
    for (const { path, firstOffset } of listSegments(join(this.#options.dir, logFolder(log)))
      .newest) {
      const file = await stat(path).catch(() => undefined);
      // It was removed with its log meanwhile.
      if (file === undefined) continue;
      const open = this.#open.get(log)?.segments.find((one) => one.firstOffset === firstOffset);
      const lastAtMs = open?.lastAtMs ?? file.mtimeMs;
      measured.push({ firstOffset, sizeBytes: file.size, lastAtMs });
    }
    return measured;
  }

  /** Drops the segments up to the one that begins at `upTo`. */
  #dropOldest(log: LogName, upTo: number, all: boolean): void {
    const open = this.#existing(log);
    const last = open?.segments.at(-1);
    if (open === undefined || last === undefined) return;
    if (all) {
      // A segment without lines has nothing to drop.
      if (last.lines > 0) open.roll();
      else if (open.segments.length === 1) return;
    }
    const count = open.segments.slice(0, -1).filter((s) => s.firstOffset <= upTo).length;
    open.dropOldest(count);
    this.#options.logger.info({ log, segments: count }, 'log_segments_dropped');
  }
}

interface MeasuredSegment {
  firstOffset: number;
  sizeBytes: number;
  /** When it was last written to. */
  lastAtMs: number;
}

/**
 * How many of the oldest segments are removed: those whose last line is older than `oldestMs`, and what
 * exceeds the quota, which never removes the last one. They ascend.
 */
function segmentsToDrop(
  segments: readonly MeasuredSegment[],
  { oldestMs, quotaBytes }: { oldestMs: number; quotaBytes: number },
): number {
  const young = segments.findIndex(({ lastAtMs }) => lastAtMs >= oldestMs);
  const drop = young === -1 ? segments.length : young;
  let keptBytes = 0;
  for (let i = segments.length - 1; i >= drop; i--) {
    keptBytes += segments[i]?.sizeBytes ?? 0;
    if (keptBytes > quotaBytes && i < segments.length - 1) return i + 1;
  }
  return drop;
}

/** Begins with the time, so that later generations sort behind earlier ones. */
function newGeneration(nowMs: number): string {
  const chance = randomBytes(4).readUInt32LE(0).toString(36).padStart(7, '0');
  return `${Math.max(0, nowMs).toString(36).padStart(9, '0')}${chance}`;
}
