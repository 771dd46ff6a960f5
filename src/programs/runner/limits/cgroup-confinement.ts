/**
 * Owns the control groups of one workload: what is written into them and read from them.
 *
 * 1. Limits are set before the first process joins.
 * 2. The groups last as long as the workload, over its restarts, so that its counters ascend.
 */
import fs from 'node:fs';
import path from 'node:path';

import type { Clock } from '../../../lib/clock.ts';
import type { Logger } from '../../../lib/log.ts';
import type { Resources } from '../../../protocol/workload.ts';
import {
  control,
  findFlat,
  parseNumber,
  parsePids,
  readControl,
  removeGroup,
  wholeGroup,
} from './cgroup-files.ts';
import type { Controller, Tree } from './cgroup-files.ts';
import {
  type ConfinedPart,
  type Confinement,
  defaultPidsMax,
  type GroupUsage,
  mebibyte,
} from './confinement.ts';
import { watchRefusedForks } from './refused-forks.ts';
import type { Place } from '../../../protocol/terminal-messages.ts';

const partPrefix = 's-';
const periodUs = 100_000;
/** The kernel takes no less. */
const quotaMinUs = 1000;

/** The group of its team. */
export interface GroupsAbove {
  /** Makes it. */
  open(): void;
  /** It may be empty now. */
  left(): void;
}

export class CgroupConfinement implements Confinement {
  readonly place: Place;
  readonly holds = true;
  readonly #version: 1 | 2;
  readonly #dirs: ReadonlyMap<Controller, string>;
  /** Null for one that is only to be ended. */
  readonly #resources: Resources | null;
  readonly #logger: Logger;
  readonly #launching: string | undefined;
  readonly #above: GroupsAbove | undefined;

  /** `name`: of its groups, below those of the tree. */
  constructor(
    tree: Tree,
    name: string,
    launching: string | undefined,
    resources: Resources | null,
    logger: Logger,
    above?: GroupsAbove,
  ) {
    this.#above = above;
    this.#version = tree.version;
    this.#dirs = new Map([...tree.dirs].map(([key, dir]) => [key, path.join(dir, name)]));
    this.#resources = resources;
    this.#logger = logger;
    this.#launching = launching;
    this.place = this.#placeIn(this.#all());
  }

  open(): void {
    this.#above?.open();
    for (const dir of this.#all()) fs.mkdirSync(dir, { recursive: true });
    const { memoryMb = null, cpus = null, pids = null } = this.#resources ?? {};
    const refused: string[] = [];
    const set = (controller: Controller, name: string, value: string): void => {
      const dir = this.#dirs.get(controller);
      if (dir !== undefined && !control(dir, name, value)) refused.push(name);
    };
    set('pids', 'pids.max', String(pids ?? defaultPidsMax));
    if (memoryMb !== null) this.#limitMemory(String(memoryMb * mebibyte), set);
    if (cpus !== null) {
      const quota = String(Math.max(Math.round(cpus * periodUs), quotaMinUs));
      if (this.#version === 2) {
        set('cpu', 'cpu.max', `${quota} ${String(periodUs)}`);
      } else {
        set('cpu', 'cpu.cfs_period_us', String(periodUs));
        set('cpu', 'cpu.cfs_quota_us', quota);
      }
    }
    if (refused.length > 0)
      this.#logger.error({ group: this.place.join[0], refused }, 'limits_refused');
  }

  pids(): number[] {
    const [dir] = this.#all();
    return dir === undefined ? [] : pidsIn(dir);
  }

  kill(): void {
    const [dir] = this.#all();
    if (dir !== undefined) this.#killIn(dir);
  }

  /** In one tree of groups only: that tells whose a process is, and the limits are those of the whole. */
  part(name: string): ConfinedPart {
    const [first = '', ...others] = this.#all();
    const dir = path.join(first, `${partPrefix}${name}`);
    fs.mkdirSync(dir);
    return {
      place: this.#placeIn([dir, ...others]),
      pids: () => pidsIn(dir),
      kill: () => this.#killIn(dir),
      close: () => void removeGroup(dir),
    };
  }

  usage(): GroupUsage | undefined {
    const cpuNs = this.#cpuNs();
    const memoryBytes = this.#memoryBytes();
    return cpuNs === undefined || memoryBytes === undefined ? undefined : { cpuNs, memoryBytes };
  }

  oomKills(): number {
    const file = this.#version === 2 ? 'memory.events' : 'memory.oom_control';
    return findFlat(this.#read(this.#dirs.get('memory'), file), 'oom_kill') ?? 0;
  }

  watchForks(clock: Clock, tell: () => void): () => void {
    const dir = this.#dirs.get('pids');
    if (dir === undefined) return () => undefined;
    return watchRefusedForks(path.join(dir, 'pids.events'), clock, tell);
  }

  close(): boolean {
    const isGone = this.#all().filter((dir) => !removeGroup(dir)).length === 0;
    this.#above?.left();
    return isGone;
  }

  /** Swap is no memory beyond the limit; a kernel that counts none refuses the second number. */
  #limitMemory(
    bytes: string,
    set: (controller: Controller, name: string, value: string) => void,
  ): void {
    const dir = this.#dirs.get('memory') ?? '';
    if (this.#version === 2) {
      set('memory', 'memory.max', bytes);
      control(dir, 'memory.swap.max', '0');
    } else {
      set('memory', 'memory.limit_in_bytes', bytes);
      control(dir, 'memory.memsw.limit_in_bytes', bytes);
    }
  }

  #killIn(dir: string): void {
    if (this.#version === 2) control(dir, 'cgroup.kill', '1');
  }

  #placeIn(dirs: readonly string[]): Place {
    const join = dirs.map((dir) => path.join(dir, 'cgroup.procs'));
    const launching = this.#launching;
    return { join, limiter: null, ...(launching !== undefined && { launching }) };
  }

  #cpuNs(): number | undefined {
    if (this.#version === 1) {
      return parseNumber(this.#read(this.#dirs.get('cpuacct'), 'cpuacct.usage'));
    }
    const usec = findFlat(this.#read(this.#all()[0], 'cpu.stat'), 'usage_usec');
    return usec === undefined ? undefined : usec * 1000;
  }

  #memoryBytes(): number | undefined {
    const dir = this.#dirs.get('memory');
    const [whole, files] =
      this.#version === 2
        ? (['memory.current', 'inactive_file'] as const)
        : (['memory.usage_in_bytes', 'total_inactive_file'] as const);
    const bytes = parseNumber(this.#read(dir, whole));
    if (bytes === undefined) return undefined;
    const cached = findFlat(this.#read(dir, 'memory.stat'), files) ?? 0;
    return Math.max(bytes - cached, 0);
  }

  #all(): string[] {
    return [...new Set(this.#dirs.values())];
  }

  #read(dir: string | undefined, name: string): string {
    return dir === undefined ? '' : read(dir, name);
  }
}

function pidsIn(dir: string): number[] {
  return [...wholeGroup(dir)].flatMap((one) => parsePids(read(one, 'cgroup.procs')));
}

/** Empty for what is not there. */
function read(dir: string, name: string): string {
  try {
    return readControl(dir, name);
  } catch {
    return '';
  }
}
