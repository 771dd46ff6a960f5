/**
 * Owns the order in which entries of several logs are told: by time, as far as they have come.
 *
 * 1. What has the lowest time goes first; an entry waits `holdMs` for others that may be on their way.
 * 2. Where only one container can still write, nothing waits.
 */
import type { Clock } from '../../../lib/clock.ts';
import type { ContainerEntry, ContainerLog } from './container-log.ts';
import type { Merged } from './merge-journal.ts';

export interface MergedBatch extends Merged {
  entries: readonly ContainerEntry[];
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
  const runs: [string, number][] = [];
  const positions: Merged['positions'] & Record<string, ContainerEntry['position']> = {};
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
    const run = runs.at(-1);
    if (run?.[0] === log.id) run[1]++;
    else runs.push([log.id, 1]);
    if (head.position) positions[log.id] = head.position;
    // Its position has to stand in the journal.
    if (head.isAnchor) break;
  }
  if (entries.length === 0) return { kind: 'wait', untilMs: wait };
  return { kind: 'batch', batch: { entries, runs, positions } };
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
