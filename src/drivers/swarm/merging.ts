/**
 * Owns the order in which entries of several tasks are told: by time, as far as they have come.
 *
 * 1. What has the lowest time goes first; an entry waits `holdMs` for others that may be on their way.
 * 2. Where only one task can still write, nothing waits.
 */
import type { Clock } from '../../lib/clock.ts';
import type { Merged } from './merge-journal.ts';
import type { TaskEntry, TaskLog } from './task-log.ts';

export interface MergedBatch extends Merged {
  entries: readonly TaskEntry[];
}

/** Daemons send what was written within a few milliseconds; nodes' clocks agree about as well. */
const holdMs = 150;
const batchMax = 1000;

export type Next =
  | { kind: 'batch'; batch: MergedBatch }
  /** Null: when something new comes. */
  | { kind: 'wait'; untilMs: number | null };

export function nextBatch(logs: readonly TaskLog[], clock: Clock): Next {
  const entries: TaskEntry[] = [];
  const runs: [string, number][] = [];
  const positions: Merged['positions'] & Record<string, TaskEntry['position']> = {};
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
    if (run?.[0] === log.taskId) run[1]++;
    else runs.push([log.taskId, 1]);
    if (head.position) positions[log.taskId] = head.position;
  }
  if (entries.length === 0) return { kind: 'wait', untilMs: wait };
  return { kind: 'batch', batch: { entries, runs, positions } };
}

function earliest(logs: readonly TaskLog[]): { log: TaskLog; head: TaskEntry } | undefined {
  let found: { log: TaskLog; head: TaskEntry } | undefined;
  for (const log of logs) {
    const { head } = log;
    if (head && (!found || head.time < found.head.time)) found = { log, head };
  }
  return found;
}

/** When nothing earlier can be expected of the others any more. */
function blockedUntil(logs: readonly TaskLog[], own: TaskLog, head: TaskEntry): number {
  let untilMs = 0;
  for (const log of logs) {
    if (log === own || log.head !== undefined || log.done) continue;
    untilMs = Math.max(untilMs, Math.max(head.arrivedAtMs, log.quietSinceMs) + holdMs);
  }
  return untilMs;
}
