/** Owns what processes use by /proc, for where no control group counts them together. */
import fs from 'node:fs';

import type { GroupUsage } from './confinement.ts';

/** What /proc counts in, on every Linux: USER_HZ is 100 to programs. */
const tickNs = 10_000_000;
const kibibyte = 1024;

/**
 * Of these processes together: CPU time with that of children they have waited for, and the memory that
 * is theirs alone. A child that nobody waited for is missing once it is gone.
 */
export function usageOf(pids: Iterable<number>): GroupUsage {
  let ticks = 0;
  let bytes = 0;
  for (const pid of pids) {
    try {
      ticks += parseTicks(fs.readFileSync(`/proc/${String(pid)}/stat`, 'latin1'));
      bytes += parsePrivate(fs.readFileSync(`/proc/${String(pid)}/status`, 'latin1'));
    } catch {
      // It ended meanwhile.
    }
  }
  return { cpuNs: ticks * tickNs, memoryBytes: bytes };
}

/** Of `/proc/<pid>/stat`: utime, stime, cutime and cstime together. */
export function parseTicks(stat: string): number {
  // The name stands in brackets and may hold anything, brackets too.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return [11, 12, 13, 14].reduce((sum, at) => sum + Number(fields[at] ?? 0), 0);
}

/** Of `/proc/<pid>/status`: bytes that are in no file. */
export function parsePrivate(status: string): number {
  let kilobytes = 0;
  for (const name of ['RssAnon', 'RssShmem']) {
    kilobytes += Number(new RegExp(`^${name}:\\s*(\\d+) kB`, 'm').exec(status)?.[1] ?? 0);
  }
  return kilobytes * kibibyte;
}
