/**
 * Owns bounds of the machine as a whole that the processes of one workload could reach for everybody. They are
 * raised as systemd raises them, so that a workload meets its own bounds first: its processes, and its memory,
 * to which the kernel counts open files.
 */
import fs from 'node:fs';
import path from 'node:path';

import type { Logger } from '../../../lib/log.ts';

/** The most that the kernel takes, on machines of 64 bits. */
const wanted = { 'fs/file-max': 2n ** 63n - 1n, 'kernel/pid_max': 2n ** 22n };

/** `dir`: sysctl(8) as files. Where they cannot be written, as in a container, they stay. */
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
