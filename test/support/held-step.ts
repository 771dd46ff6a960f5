/** Owns a step of a build that lasts until it is let through, whatever the machine's speed. */
import fs from 'node:fs';

import { isMarked, mark, waitingFor } from './driver-specs.ts';

const sign = '/tmp/through';

/** For RUN. */
export const heldStep = `${waitingFor(sign)}; : ${mark}`;

/** Ids of its processes that run, each of one build. */
export function heldSteps(): string[] {
  return fs.readdirSync('/proc').filter((pid) => {
    if (!/^\d+$/.test(pid)) return false;
    try {
      const line = fs.readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ');
      return isMarked(line, `/bin/sh -c ${waitingFor(sign)}`);
    } catch {
      return false; // It ended meanwhile.
    }
  });
}

/** Lets through all that are there, and that come, until `work` is done. */
export async function lettingThrough<T>(work: Promise<T>): Promise<T> {
  const timer = setInterval(() => {
    for (const pid of heldSteps()) {
      try {
        fs.writeFileSync(`/proc/${pid}/root${sign}`, '');
      } catch {
        // It ended meanwhile.
      }
    }
  }, 100);
  try {
    return await work;
  } finally {
    clearInterval(timer);
  }
}
