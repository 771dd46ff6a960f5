/** Owns the look at the machine's processes for tests: which of them live, and belong to a data directory. */
import { readdirSync, readFileSync, readlinkSync } from 'node:fs';

/** PF_KTHREAD of the kernel. */
const ofKernel = 0x200000;

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
      const command = readFileSync(`/proc/${name}/cmdline`, 'utf8').replaceAll('\0', ' ').trim();
      if (command === '' && isDeadOrOfKernel(name)) return [];
      const belongs =
        command.includes(dir) ||
        readFileSync(`/proc/${name}/environ`, 'utf8').includes(dir) ||
        readlinkSync(`/proc/${name}/cwd`).includes(dir);
      return belongs ? [{ pid, command }] : [];
    } catch {
      return []; // It ended meanwhile.
    }
  });
}

/** Neither has a command; each file of another process costs some time to read. */
function isDeadOrOfKernel(pid: string): boolean {
  const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
  // Behind the command, which may hold anything: state, then six numbers, flags the last.
  const [state = '', ...numbers] = stat.slice(stat.lastIndexOf(')') + 2).split(' ', 7);
  return state === 'Z' || state === 'X' || (Number(numbers[5]) & ofKernel) !== 0;
}

/** The runner of a data directory, while there is one. */
export function runnerOf(dir: string): FoundProcess | undefined {
  return processesOf(dir).find(({ command }) => command.includes(' --data-dir '));
}

/** The edge of a data directory, while there is one. */
export function edgeOf(dir: string): FoundProcess | undefined {
  return edgesOf(dir)[0];
}

/** The same with those that only finish what is under way. */
export function edgesOf(dir: string): FoundProcess[] {
  return processesOf(dir).filter(({ command }) => command.includes('/programs/edge/main.'));
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
