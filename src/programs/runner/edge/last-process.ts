/**
 * Owns the memory of which process served the edge last. It ends with its runner by itself; one that hangs does not,
 * and would keep the port from the next.
 */
import fs from 'node:fs';
import path from 'node:path';

import { type FirstProcess, lives, readProcess } from '../../../lib/processes/processes.ts';
import { writeFileWhole } from '../../../lib/whole-file.ts';

const fileName = 'edge.json';

export function noteProcess(dir: string, pid: number): void {
  const process: FirstProcess = { pid, startTicks: readProcess(pid)?.startTicks ?? 0 };
  writeFileWhole(path.join(dir, fileName), JSON.stringify(process), false);
}

/** Ends it where it lives still. */
export function endLastProcess(dir: string): void {
  try {
    const text = fs.readFileSync(path.join(dir, fileName), 'utf8');
    const last = JSON.parse(text) as FirstProcess;
    const command = fs.readFileSync(`/proc/${String(last.pid)}/cmdline`, 'latin1');
    // Its number may be another's, after a restart of the machine even with the same time.
    if (lives(last) && command.includes('/main.')) process.kill(last.pid, 'SIGKILL');
  } catch {
    // There was none, or it has ended.
  }
}
