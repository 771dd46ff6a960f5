/** Owns the temporary folders of test files' processes, and the end of what outlives those. */
import { readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isAlive, processesOf, signal } from '../support/processes.ts';

/** Fixed when this is loaded: a test file's own temporary folder lies in it. */
const top = tmpdir();
const pattern = /^gw-\d+-(\d+)-t$/;
const roundsMax = 50;

/** Short, as paths of sockets may have 107 bytes; none is the beginning of another. */
export function folderOf(runner: number, file: number): string {
  return join(top, `gw-${String(runner)}-${String(file)}-t`);
}

/** Kills who names the folder, and removes it. Answers with the commands that were killed. */
export function sweepFolder(folder: string): string[] {
  const killed = new Map<number, string>();
  for (let round = 0; round < roundsMax; round++) {
    const left = processesOf(folder);
    if (left.length === 0) break;
    for (const { pid, command } of left) {
      killed.set(pid, command);
      signal(pid, 'SIGKILL');
    }
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 20);
  }
  rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
  return [...killed.values()];
}

/** Folders of test files that are no more, of whichever run. */
export async function sweepDead(): Promise<void> {
  for (const name of readdirSync(top)) {
    const file = pattern.exec(name)?.[1];
    if (file === undefined || isAlive(Number(file))) continue;
    const folder = join(top, name);
    await endDaemons(folder);
    sweepFolder(folder);
  }
}

/** What their containers run names no folder of ours; they have mounts and bridges besides. */
async function endDaemons(folder: string): Promise<void> {
  if (!readdirSync(folder).some((name) => name.startsWith('gangway-dockerd-'))) return;
  const { cleanUp } = await import('../support/docker-daemon.ts');
  cleanUp(folder);
}
