/** Owns the look at the machine's processes for tests: which of them live, and belong to a data directory. */
import { readdirSync, readFileSync, readlinkSync } from 'node:fs';

export interface FoundProcess {
  pid: number;
  command: string;
}

/** Living processes that name `dir` in their command or environment, or work below it. */
export function processesOf(dir: string): FoundProcess[] {
  return readdirSync('/proc').flatMap((name) => {
    const pid = Number(name);
    if (!Number.isInteger(pid) || pid === process.pid) return [];
    try {
      const state = readFileSync(`/proc/${name}/stat`, 'latin1');
      if (/\) [ZX] /.test(state)) return [];
      const command = readFileSync(`/proc/${name}/cmdline`, 'utf8').replaceAll('\0', ' ').trim();
      const environment = readFileSync(`/proc/${name}/environ`, 'utf8');
      const place = readlinkSync(`/proc/${name}/cwd`);
      const belongs = [command, environment, place].some((text) => text.includes(dir));
      return belongs ? [{ pid, command }] : [];
    } catch {
      return []; // It ended meanwhile.
    }
  });
}

/** The runner of a data directory, while there is one. */
export function runnerOf(dir: string): FoundProcess | undefined {
  return processesOf(dir).find(({ command }) => command.includes(' --data-dir '));
}

/** Sends a signal; false when the process is gone. */
export function signal(pid: number, name: NodeJS.Signals): boolean {
  try {
    process.kill(pid, name);
    return true;
  } catch {
    return false; // It ended by itself.
  }
}

export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    // A zombie of another parent is as good as gone.
    return !/\) [ZX] /.test(readFileSync(`/proc/${String(pid)}/stat`, 'latin1'));
  } catch {
    return false; // No such process.
  }
}

export function childrenOf(parent: number): number[] {
  return readdirSync('/proc').flatMap((name) => {
    if (!/^\d+$/.test(name)) return [];
    try {
      const stat = readFileSync(`/proc/${name}/stat`, 'latin1');
      // Behind the command, which may hold anything: state, then parent.
      const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
      return Number(fields[1]) === parent ? [Number(name)] : [];
    } catch {
      return []; // It ended meanwhile.
    }
  });
}
