/**
 * Owns the order in which entries of several logs are told: by time, as far as they have come.
 *
 * 1. What has the lowest time goes first; an entry waits `holdMs` for others that may be on their way.
 * 2. Where only one container can still write, nothing waits.
 */
import type { Clock } from '../../../lib/clock.ts';
import type { ContainerEntry, ContainerLog } from './container-log.ts';
import type { Position } from './log-cursor.ts';
import type { Merged } from './merge-journal.ts';

export interface MergedBatch {
  entries: readonly ContainerEntry[];
  /** For the journal. One ends with each anchor, whose position has to stand there. */
  records: readonly Merged[];
}

/** The daemon sends what was written within a few milliseconds. */
const holdMs = 150;
const batchMax = 1000;

export type Next =
  | { kind: 'batch'; batch: MergedBatch }
  /** Null: when something new comes. */
  | { kind: 'wait'; untilMs: number | null };

export function nextBatch(logs: readonly ContainerLog[], clock: Clock): Next {
  const entries: ContainerEntry[] = [];
  const records: Merged[] = [];
  let open: { runs: [string, number][]; positions: Record<string, Position> } | undefined;
  let wait: number | null = null;
  while (entries.length < batchMax) {
    const first = earliest(logs);
    if (!first) break;
    const { log, head } = first;
    const untilMs = blockedUntil(logs, log, head);
    if (untilMs > clock.now()) {
      wait = untilMs;
      break;
    }
    log.take();
    entries.push(head);
    if (!open) records.push((open = { runs: [], positions: {} }));
    const run = open.runs.at(-1);
    if (run?.[0] === log.id) run[1]++;
    else open.runs.push([log.id, 1]);
    if (head.position) open.positions[log.id] = head.position;
    if (head.isAnchor) open = undefined;
  }
  if (entries.length === 0) return { kind: 'wait', untilMs: wait };
  return { kind: 'batch', batch: { entries, records } };
}

function earliest(
  logs: readonly ContainerLog[],
): { log: ContainerLog; head: ContainerEntry } | undefined {
  let found: { log: ContainerLog; head: ContainerEntry } | undefined;
  for (const log of logs) {
    const { head } = log;
    if (head && (!found || head.time < found.head.time)) found = { log, head };
  }
  return found;
}

/** When nothing earlier can be expected of the others any more. */
function blockedUntil(
  logs: readonly ContainerLog[],
  own: ContainerLog,
  head: ContainerEntry,
): number {
  let untilMs = 0;
  for (const log of logs) {
    if (log === own || log.head !== undefined || log.done) continue;
    untilMs = Math.max(untilMs, Math.max(head.arrivedAtMs, log.quietSinceMs) + holdMs);
  }
  return untilMs;
}
