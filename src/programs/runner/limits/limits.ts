/**
 * Owns the choice of what limits workloads here: control groups where we may make some, else what can be
 * done without.
 *
 * `prlimit` of util-linux bounds what one process may allocate, and, where each app has a uid of its own,
 * how many processes that has. It bounds no group, and no CPU; a program that is short of memory is
 * told so and not ended.
 */
import fs from 'node:fs';

import type { Logger } from '../../../lib/log.ts';
import type { Place } from '../../../protocol/terminal-messages.ts';
import type { Resources } from '../../../protocol/workload.ts';
import { openCgroups, readCgroupHost } from './cgroups.ts';
import { defaultPidsMax, mebibyte } from './confinement.ts';
import type { Confinement, Limits } from './confinement.ts';

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
    open: () => undefined,
    pids: () => [],
    kill: () => undefined,
    usage: () => undefined,
    oomKills: () => 0,
    close: () => true,
  };
}
