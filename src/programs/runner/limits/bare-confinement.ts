/**
 * Owns what can be done where there are no control groups for us: limits of single processes, and
 * figures from /proc.
 *
 * `prlimit` of util-linux bounds what one process may allocate, and, where each app has a uid of its own,
 * how many processes that has. It bounds no group, and no CPU; a program that is short of memory is
 * told so and not ended.
 */
import fs from 'node:fs';

import type { Resources } from '../../../protocol/workload.ts';
import { type Confinement, defaultPidsMax, type Limits, mebibyte } from './confinement.ts';
import type { Place } from '../../../protocol/terminal-messages.ts';

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
