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
import { defaultPidsMax, mebibyte } from './confinement.ts';
import type { Confinement, Limits } from './confinement.ts';
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
    confinementOf: (_id, resources) => new BareConfinement(placeOf(prlimit, perUid, resources)),
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

class BareConfinement implements Confinement {
  readonly place: Place | null;

  constructor(place: Place | null) {
    this.place = place;
  }

  open(): void {
    // Nothing is made.
  }

  pids(): number[] {
    return [];
  }

  kill(): void {
    // Its processes are found by their mark.
  }

  usage(): undefined {
    return undefined;
  }

  oomKills(): number {
    return 0;
  }

  close(): boolean {
    return true; // Nothing was made.
  }
}
