/**
 * Owns telling a fork bomb from a program that has as many processes as it may have.
 *
 * The kernel copies the memory of a process before it refuses the copy, and holds what all programs that have the same
 * libraries need to start: two thousand processes that try again and again make everybody wait for seconds.
 */
import fs from 'node:fs';

import type { Clock } from '../../../lib/clock.ts';
import { findFlat } from './cgroup-files.ts';

/** So many from one look to the next: a program that gives up, or tries once in a while, stays below. */
export const bombForks = 500;
export const lookMs = 2000;

/**
 * `file`: `pids.events` of a control group; version 1 does not say when it changes. Tells once, as soon as that many were
 * refused. Returns what ends the watch.
 */
export function watchRefusedForks(file: string, clock: Clock, tell: () => void): () => void {
  let before = refusedIn(file);
  let cancel = clock.after(lookMs, look);
  function look(): void {
    const refused = refusedIn(file);
    if (refused - before >= bombForks) {
      tell();
      return;
    }
    before = refused;
    cancel = clock.after(lookMs, look);
  }
  return () => cancel();
}

function refusedIn(file: string): number {
  try {
    return findFlat(fs.readFileSync(file, 'latin1'), 'max') ?? 0;
  } catch {
    return 0; // The group is gone, and all in it.
  }
}
