/**
 * Owns settings of the machine as a whole that decide what one workload can cost the others, by sysctl(8).
 *
 * 1. Bounds that the processes of one workload could reach for everybody are raised as systemd raises them, so that a
 *    workload meets its own first: its processes, and its memory, to which the kernel counts open files.
 * 2. The processor is not shared by sessions (sched(7), autogroup) where workloads have control groups. A session is one
 *    share for all of its threads: those that compress and write held up whoever serves, and programs elsewhere that
 *    want little, for 200 ms and more.
 */
import fs from 'node:fs';
import path from 'node:path';

import type { Logger } from '../../../lib/log.ts';

/** The most that the kernel takes, on machines of 64 bits. */
const wanted = { 'fs/file-max': 2n ** 63n - 1n, 'kernel/pid_max': 2n ** 22n };
const sessionShares = 'kernel/sched_autogroup_enabled';

/** `dir`: the settings as files. Where they cannot be written, as in a container, they stay. */
export function raiseMachineBounds(logger: Logger, dir = '/proc/sys'): void {
  for (const [name, most] of Object.entries(wanted)) {
    const file = path.join(dir, name);
    try {
      const before = BigInt(fs.readFileSync(file, 'latin1').trim());
      if (before >= most) continue;
      fs.writeFileSync(file, String(most));
      logger.info({ bound: name, before: String(before) }, 'machine_bound_raised');
    } catch (error) {
      logger.info({ err: error, bound: name }, 'machine_bound_kept');
    }
  }
}

/** The same of shares by sessions. */
export function endSessionShares(logger: Logger, dir = '/proc/sys'): void {
  const file = path.join(dir, sessionShares);
  try {
    if (fs.readFileSync(file, 'latin1').trim() === '0') return;
    fs.writeFileSync(file, '0');
    logger.info({ setting: sessionShares }, 'session_shares_ended');
  } catch (error) {
    // Kernels without them have no such file.
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return;
    logger.info({ err: error, setting: sessionShares }, 'session_shares_kept');
  }
}
