/**
 * Owns the choice of what limits workloads here: control groups where we may make some, else what can be
 * done without.
 *
 * `prlimit` of util-linux bounds what one process may allocate, and, where each app has a uid of its own,
 * how many processes that has. It bounds no group, and no CPU; a program that is short of memory is
 * told so and not ended. What processes use is summed up from /proc.
 */
import fs from 'node:fs';

import type { Logger } from '../../../lib/log.ts';
import type { Place } from '../../../protocol/terminal-messages.ts';
import type { Resources } from '../../../protocol/workload.ts';
import { openCgroups, readCgroupHost } from './cgroups.ts';
import { defaultPidsMax, mebibyte } from './confinement.ts';
import type { Confinement, GroupUsage, Limits } from './confinement.ts';

/** `instance`: names the groups of this data directory, unlike those of any other. */
export function openLimits(instance: string, logger: Logger, host = readCgroupHost()): Limits {
  const limits = openCgroups(host, instance, logger) ?? openBareLimits(host.isRoot);
  if (limits.missing.length === 0) logger.info({ kind: limits.kind }, 'limits');
  else logger.warn({ kind: limits.kind, missing: limits.missing }, 'limits_not_enforced');
  return limits;
}

const prlimitPlaces = ['/usr/bin/prlimit', '/bin/prlimit'];

/** `perUid`: whether each app has a uid of its own, which counts its processes. */
export function openBareLimits(perUid: boolean): Limits {
  const prlimit = prlimitPlaces.find((file) => fs.existsSync(file));
  return {
    kind: prlimit === undefined ? 'none' : 'rlimits',
    missing: [
      ...(prlimit === undefined ? (['memory'] as const) : []),
      'cpus',
      ...(prlimit === undefined || !perUid ? (['pids'] as const) : []),
    ],
    confinementOf: (_id, resources) => bareConfinement(placeOf(prlimit, perUid, resources)),
    sweep: () => undefined,
    close: () => undefined,
  };
}

function placeOf(prlimit: string | undefined, perUid: boolean, resources: Resources): Place | null {
  if (prlimit === undefined) return null;
  const limits: string[] = [];
  // Not the address space: programs such as node reserve gigabytes of it and use little.
  if (resources.memoryMb !== null) limits.push(`--data=${String(resources.memoryMb * mebibyte)}`);
  if (perUid) limits.push(`--nproc=${String(resources.pids ?? defaultPidsMax)}`);
  return limits.length === 0 ? null : { join: [], limiter: [prlimit, ...limits, '--'] };
}

/** Nothing is made for it, and its processes are found by their mark. */
function bareConfinement(place: Place | null): Confinement {
  return {
    place,
    holds: false,
    open: () => undefined,
    pids: () => [],
    kill: () => undefined,
    usage: () => undefined,
    oomKills: () => 0,
    watchForks: () => () => undefined,
    close: () => true,
  };
}

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
