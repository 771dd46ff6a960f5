/**
 * Owns the memory of which processes served the edge last. They end with their runner by themselves; one that hangs does
 * not, and would keep the port from the next.
 */
import fs from 'node:fs';
import path from 'node:path';

import { type FirstProcess, lives, readProcess } from '../../../lib/processes/processes.ts';
import { writeFileWhole } from '../../../lib/whole-file.ts';

const fileName = 'edge.json';

export function noteProcesses(dir: string, pids: readonly number[]): void {
  const processes = pids.map((pid): FirstProcess => {
    return { pid, startTicks: readProcess(pid)?.startTicks ?? 0 };
  });
  writeFileWhole(path.join(dir, fileName), JSON.stringify(processes), false);
}

/** Ends those that live still. */
export function endLastProcesses(dir: string): void {
  for (const last of noted(path.join(dir, fileName))) {
    try {
      const command = fs.readFileSync(`/proc/${String(last.pid)}/cmdline`, 'latin1');
      // Its number may be another's, after a restart of the machine even with the same time.
      if (lives(last) && command.includes('/main.')) process.kill(last.pid, 'SIGKILL');
    } catch {
      // It has ended.
    }
  }
}

function noted(file: string): FirstProcess[] {
  try {
    const last = JSON.parse(fs.readFileSync(file, 'utf8')) as FirstProcess | FirstProcess[];
    // An earlier version noted a single one.
    return Array.isArray(last) ? last : [last];
  } catch {
    return []; // There was none.
  }
}
