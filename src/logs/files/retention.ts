/** Owns which segments of a log retention removes: always the oldest, always whole ones. */
import type { SegmentRecord } from '../../store/records/records.ts';

export interface RetentionLimits {
  /** Segments whose last line is older than this are removed. */
  oldestMs: number;
  quotaBytes: number;
}

/**
 * How many of the oldest segments are removed. `records` ascend. `lastAtMs` is the time of the log's
 * last line, which the last record does not know. The quota never removes the last segment.
 */
export function segmentsToDrop(
  records: readonly Pick<SegmentRecord, 'lastAtMs' | 'sizeBytes'>[],
  lastAtMs: number,
  limits: RetentionLimits,
): number {
  let drop = 0;
  while (drop < records.length) {
    const last = drop === records.length - 1;
    const atMs = last ? lastAtMs : (records[drop]?.lastAtMs ?? 0);
    if (atMs >= limits.oldestMs) break;
    drop++;
  }
  let keptBytes = 0;
  for (let i = records.length - 1; i >= drop; i--) {
    keptBytes += records[i]?.sizeBytes ?? 0;
    if (keptBytes > limits.quotaBytes && i < records.length - 1) return i + 1;
  }
  return drop;
}
