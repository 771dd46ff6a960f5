/**
 * Owns reading a list of segments as one log: by offset, by time, with the gaps that retention or a
 * damaged file left. The list ascends; its last segment may still grow.
 */
import type { LogLine, LogSlice } from './log.ts';
import type { SegmentFile } from './segment-file.ts';

const defaultReadBytes = 64 * 1024;
const lookBackLines = 1000;

/** Scans a segment unless all of it is known. False when its file is gone. */
function prepare(segment: SegmentFile, next: SegmentFile | undefined): boolean {
  if (next !== undefined && segment.nextOffset >= next.firstOffset) return true;
  return segment.scan();
}

function indexOfSegment(segments: readonly SegmentFile[], offset: number): number {
  let low = 0;
  let high = segments.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((segments[middle]?.firstOffset ?? Infinity) <= offset) low = middle + 1;
    else high = middle;
  }
  return Math.max(0, low - 1);
}

export function readSegments(
  segments: readonly SegmentFile[],
  from: number,
  limit: number,
  maxBytes: number = defaultReadBytes,
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
    if (prepare(segment, behind)) {
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

/**
 * The last lines of one source before a time, in order, among the `lookBackLines` newest before that
 * time.
 */
export function lastOfSource(
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
    if (!prepare(segment, segments[i + 1])) continue;
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

/**
 * Offset of the first line at or after a time. When all lines are older, the offset of the next line to
 * come.
 */
export function offsetAtTime(segments: readonly SegmentFile[], atMs: number): number {
  let low = 0;
  let high = segments.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    const firstAtMs = segments[middle]?.peekFirstAtMs() ?? null;
    // A segment without lines or without its file tells no time. Only the last one may be empty.
    if (firstAtMs !== null && firstAtMs < atMs) low = middle + 1;
    else high = middle;
  }
  for (let i = Math.max(0, low - 1); i < segments.length; i++) {
    const segment = segments[i];
    if (segment === undefined || !prepare(segment, segments[i + 1])) continue;
    const offset = segment.offsetAt(atMs);
    if (offset !== undefined) return offset;
  }
  return segments.at(-1)?.nextOffset ?? 1;
}
