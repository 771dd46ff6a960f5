/**
 * Owns what a log is to the rest of the program: an endless sequence of lines, each with an offset.
 *
 * 1. Offsets ascend by one for each line of a generation; a new generation starts when a log is made
 *    anew or restored, so that an old cursor never points at other lines.
 * 2. A line is in its file before any reader gets it, so that readers need nothing of the writer's
 *    memory.
 * 3. Retention drops whole segments. Readers are told of dropped lines as a gap.
 */
import type { EntryStream } from '../../protocol/workload.ts';

/** Of an app, `app:<id>`, or of another service of its stack, `app:<id>.<service>`. */
export type LogName = `app:${string}` | `build:${string}` | `db:${string}`;

export interface LogLine {
  offset: number;
  atMs: number;
  stream: EntryStream | 'system';
  /** Bytes as written, with the newline when there was one. */
  bytes: Uint8Array;
}

export interface LogRange {
  generation: string;
  /** Offset of the oldest line kept, and of the next line to come. */
  firstOffset: number;
  nextOffset: number;
}

export interface LogSlice {
  lines: LogLine[];
  /** How many lines retention removed between `from` and the first line returned. */
  gap: number;
  /** Where to read on. */
  nextOffset: number;
}

/** Reading, on any thread, also while the log grows. */
export interface LogReader {
  /** Undefined for a log that was never written. */
  range(log: LogName): LogRange | undefined;
  /** Lines from an offset on; at most `limit` lines and about `maxBytes` (default 64 KiB). */
  read(log: LogName, from: number, limit: number, maxBytes?: number): LogSlice;
  /** Offset of the first line written at or after a time. */
  offsetAt(log: LogName, atMs: number): number;
  /**
   * The last lines, `count` at most, that one source (`LogSource.id`) wrote before a time. Only the
   * newest lines before that time are searched, so that it stays quick.
   */
  lastOf(log: LogName, sourceId: string, beforeMs: number, count: number): LogLine[];
}

/**
 * Where appended lines come from, so that after a crash the source continues behind the last stored
 * one.
 */
export interface LogSource {
  /** The workload's id. */
  id: string;
  /** The number of the source's entry that the last of these lines came from. */
  seq: number;
}
