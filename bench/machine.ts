/** Owns what is said about the machine that figures come from, and which cores run what. */
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { availableParallelism, cpus, loadavg, release, totalmem } from 'node:os';
import { fileURLToPath } from 'node:url';

export interface Machine {
  cores: number;
  model: string;
  memoryBytes: number;
  kernel: string;
  node: string;
  /** Mean of runnable processes over the minute before the run: what else the machine did. */
  loadBefore: number;
  pinned: Affinity | null;
  /** What HTTP load comes from. */
  load: string;
  /** The commit measured, with a mark where files differ from it. */
  commit: string;
}

const home = fileURLToPath(new URL('..', import.meta.url));

/** Lists of cores as `taskset -c` wants them. */
export interface Affinity {
  servers: string;
  load: string;
}

export type LoadProgram = 'wrk' | 'oha' | 'built in';

export function describeMachine(pinned: Affinity | null): Machine {
  return {
    cores: availableParallelism(),
    model: cpus()[0]?.model.trim() ?? 'unknown',
    memoryBytes: totalmem(),
    kernel: release(),
    node: process.version,
    loadBefore: loadavg()[0] ?? 0,
    pinned,
    load: loadVersion(),
    commit: commitOf(),
  };
}

/** `wrk`, else `oha`, else sockets of our own. */
export function loadProgram(): LoadProgram {
  if (isInstalled('wrk', '-v')) return 'wrk';
  return isInstalled('oha', '--version') ? 'oha' : 'built in';
}

/**
 * Servers on one half of the cores, load on the other, from four cores on; null where there are
 * fewer or none can be chosen. Two threads of one core are on the same side.
 */
export function affinityOf(cores: readonly (readonly number[])[]): Affinity | null {
  if (cores.flat().length < 4 || cores.length < 2) return null;
  const half = Math.ceil(cores.length / 2);
  const list = (part: readonly (readonly number[])[]): string =>
    part
      .flat()
      .sort((a, b) => a - b)
      .join(',');
  return { servers: list(cores.slice(0, half)), load: list(cores.slice(half)) };
}

export function findAffinity(): Affinity | null {
  return isInstalled('taskset', '--version') ? affinityOf(coresAllowed()) : null;
}

/** The threads of each core that this process may run on. */
function coresAllowed(): number[][] {
  try {
    const status = readFileSync('/proc/self/status', 'utf8');
    const allowed = cpuList(/Cpus_allowed_list:\s*(\S+)/.exec(status)?.[1] ?? '');
    const cores = allowed.map((cpu) => {
      const file = `/sys/devices/system/cpu/cpu${cpu}/topology/thread_siblings_list`;
      return cpuList(readFileSync(file, 'utf8').trim()).filter((one) => allowed.includes(one));
    });
    return [...new Map(cores.map((core) => [core.join(','), core])).values()];
  } catch {
    // Not Linux, or no sysfs: nothing is pinned, and the report says so.
    return [];
  }
}

/** `0-2,5` is 0, 1, 2 and 5. */
export function cpuList(text: string): number[] {
  return text
    .split(',')
    .filter(Boolean)
    .flatMap((range) => {
      const [first = 0, last = first] = range.split('-').map(Number);
      return Array.from({ length: last - first + 1 }, (_, i) => first + i);
    });
}

function loadVersion(): string {
  const program = loadProgram();
  if (program === 'built in') return 'sockets of our own (neither wrk nor oha is installed)';
  const said = spawnSync(program, [program === 'wrk' ? '-v' : '--version'], { encoding: 'utf8' });
  return /^(?:wrk|oha) \S+/.exec(said.stdout.trim())?.[0] ?? program;
}

function isInstalled(program: string, ...args: string[]): boolean {
  return spawnSync(program, args, { stdio: 'ignore' }).error === undefined;
}

function commitOf(): string {
  const git = (...args: string[]): string => {
    const { stdout, status } = spawnSync('git', args, { cwd: home, encoding: 'utf8' });
    return status === 0 ? stdout.trim() : '';
  };
  const commit = git('rev-parse', '--short=10', 'HEAD');
  if (commit === '') return 'unknown';
  const changed = git('status', '--porcelain', '--untracked-files=no') !== '';
  return changed ? `${commit}, changed` : commit;
}
