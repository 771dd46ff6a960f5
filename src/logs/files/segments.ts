/**
 * Owns reading a log by its segments: by offset, by time, with the gaps that retention or a damaged file
 * left. Segments ascend; the last one may still grow.
 */
import type { LogLine, LogName, LogRange, LogReader, LogSlice } from './log.ts';
import type { SegmentFile } from './segment-file.ts';

const defaultReadBytes = 64 * 1024;
const lookBackLines = 1000;

/** Reads logs; a subclass says which segments they have. */
export abstract class SegmentReader implements LogReader {
  range(log: LogName): LogRange | undefined {
    const segments = this.segmentsOf(log);
    const [first, last] = [segments[0], segments.at(-1)];
    if (first === undefined || last === undefined) return undefined;
    const { generation, nextOffset } = last;
    return { generation, firstOffset: first.firstOffset, nextOffset };
  }

  read(log: LogName, from: number, limit: number, maxBytes = defaultReadBytes): LogSlice {
    return readSegments(this.segmentsOf(log), from, limit, maxBytes);
  }

  offsetAt(log: LogName, atMs: number): number {
    return offsetAtTime(this.segmentsOf(log), atMs);
  }

  lastOf(log: LogName, sourceId: string, beforeMs: number, count: number): LogLine[] {
    return lastOfSource(this.segmentsOf(log), sourceId, beforeMs, count);
  }

  /** Empty for a log that was never written. The last segment is scanned to its end. */
  protected abstract segmentsOf(log: LogName): readonly SegmentFile[];
}

/** Scans a segment unless all of it is known. False when its file is gone. */
export function isKnown(segment: SegmentFile, next: SegmentFile | undefined): boolean {
  if (next !== undefined && segment.nextOffset >= next.firstOffset) return true;
  return segment.scan();
}

function indexOfSegment(segments: readonly SegmentFile[], offset: number): number {
  return Math.max(
    0,
    segments.findLastIndex(({ firstOffset }) => firstOffset <= offset),
  );
}

function readSegments(
  segments: readonly SegmentFile[],
  from: number,
  limit: number,
  maxBytes: number,
): LogSlice {
  const lines: LogLine[] = [];
  let next = from;
  let gap = 0;
  let leftBytes = maxBytes;
  const full = (): boolean => lines.length >= limit || leftBytes <= 0;
  const skipTo = (offset: number): void => {
    if (offset <= next) return;
    gap += offset - next;
    next = offset;
  };
  for (let i = indexOfSegment(segments, from); i < segments.length && !full(); i++) {
    const segment = segments[i];
    const behind = segments[i + 1];
    if (segment === undefined) break;
    // A gap after lines that were taken is left to the next read, so that it is reported in its place.
    if (lines.length > 0 && segment.firstOffset > next) break;
    if (isKnown(segment, behind)) {
      skipTo(segment.firstOffset);
      segment.visit(next, leftBytes, (line) => {
        if (full()) return false;
        lines.push(line);
        leftBytes -= line.bytes.length;
        next = line.offset + 1;
        return !full();
      });
    }
    if (full() || behind === undefined) break;
    if (lines.length > 0 && next < behind.firstOffset) break;
    skipTo(behind.firstOffset);
  }
  return { lines, gap, nextOffset: next };
}

/** See `LogReader.lastOf`: only the `lookBackLines` newest lines before the time are searched. */
function lastOfSource(
  segments: readonly SegmentFile[],
  sourceId: string,
  beforeMs: number,
  count: number,
): LogLine[] {
  const until = offsetAtTime(segments, beforeMs);
  const from = until - lookBackLines;
  const last: LogLine[] = [];
  for (let i = indexOfSegment(segments, from); i < segments.length; i++) {
    const segment = segments[i];
    if (segment === undefined || segment.firstOffset >= until) break;
    if (!isKnown(segment, segments[i + 1])) continue;
    const take = (line: LogLine): boolean => {
      if (line.offset >= until) return false;
      last.push(line);
      if (last.length > count) last.shift();
      return true;
    };
    segment.visit(Math.max(from, segment.firstOffset), defaultReadBytes, take, sourceId);
  }
  return last;
}

/** The offset of the next line to come, when all lines are older. */
function offsetAtTime(segments: readonly SegmentFile[], atMs: number): number {
  const before = segments.findLastIndex((segment) => {
    const firstAtMs = segment.peekFirstAtMs();
    // A segment without lines or without its file tells no time.
    return firstAtMs !== null && firstAtMs < atMs;
  });
  for (let i = Math.max(0, before); i < segments.length; i++) {
    const segment = segments[i];
    if (segment === undefined || !isKnown(segment, segments[i + 1])) continue;
    const offset = segment.offsetAt(atMs);
    if (offset !== undefined) return offset;
  }
  return segments.at(-1)?.nextOffset ?? 1;
}
