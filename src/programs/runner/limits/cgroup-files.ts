/**
 * Owns the forms of the kernel's control group files: pure functions over their text.
 *
 * Sources: proc(5) for mountinfo, cgroups(7), and the kernel's cgroup-v1 and cgroup-v2 manuals.
 */

import path from 'node:path';

/** What we limit by. `cpuacct` counts CPU time on version 1; version 2 counts it in `cpu.stat`. */
export type Controller = 'memory' | 'cpu' | 'cpuacct' | 'pids';

const controllers: readonly Controller[] = ['memory', 'cpu', 'cpuacct', 'pids'];

export interface CgroupMounts {
  /** Where each controller of version 1 is mounted; two may share a place. */
  v1: ReadonlyMap<Controller, string>;
  /** Where version 2 is mounted, with or without controllers. */
  v2: V2Mount | undefined;
}

export interface V2Mount {
  dir: string;
  /** The group that is seen there, from the root we see: more than `/` where a part was mounted. */
  root: string;
}

/** Of `/proc/self/mountinfo`: the first mount of each that can be written to. */
export function parseMounts(mountinfo: string): CgroupMounts {
  const v1 = new Map<Controller, string>();
  let v2: V2Mount | undefined;
  for (const line of mountinfo.split('\n')) {
    // <id> <parent> <dev> <root> <mount point> <options> [<field>…] - <type> <source> <options>
    const [before = '', after = ''] = line.split(' - ');
    const [, , , root = '', place = '', options = ''] = before.split(' ');
    const [type, , superOptions = ''] = after.split(' ');
    if (!options.split(',').includes('rw')) continue;
    const dir = unescapePath(place);
    if (type === 'cgroup2') v2 ??= { dir, root: unescapePath(root) };
    if (type !== 'cgroup') continue;
    const mounted = new Set(superOptions.split(','));
    for (const controller of controllers) {
      if (mounted.has(controller) && !v1.has(controller)) v1.set(controller, dir);
    }
  }
  return { v1, v2 };
}

/** Spaces and the like stand as octal numbers in mountinfo. */
function unescapePath(text: string): string {
  return text.replace(/\\([0-7]{3})/g, (_all, octal: string) =>
    String.fromCharCode(parseInt(octal, 8)),
  );
}

/** Of `/proc/self/cgroup`: the path in the hierarchy of version 2, from the root we see. */
export function parseOwnV2(selfCgroup: string): string | undefined {
  for (const line of selfCgroup.split('\n')) {
    if (line.startsWith('0::')) return line.slice('0::'.length);
  }
  return undefined;
}

/** Where a group of version 2 is found below a mount; undefined when it is not seen there. */
export function placeIn({ dir, root }: V2Mount, group: string): string | undefined {
  const below = root === '/' ? group : group.slice(root.length);
  if (root !== '/' && group !== root && !group.startsWith(`${root}/`)) return undefined;
  const place = path.posix.join(dir, below);
  return place === dir || place.startsWith(`${dir}/`) ? place.replace(/\/$/, '') : undefined;
}

/** Words of a line such as `cgroup.controllers`. */
export function parseWords(text: string): string[] {
  return text.split(/\s+/).filter((word) => word !== '');
}

/** One number; undefined for `max` and for what is none. */
export function parseNumber(text: string): number | undefined {
  const trimmed = text.trim();
  const value = Number(trimmed);
  return trimmed === '' || !Number.isFinite(value) ? undefined : value;
}

/**
 * The number of one line `<name> <number>` of `memory.stat`, `cpu.stat`, `memory.events` and their like. Looked
 * for, not read whole: the runner asks often, and without its last compiler tier.
 */
export function findFlat(text: string, name: string): number | undefined {
  const start = text.startsWith(`${name} `) ? 0 : text.indexOf(`\n${name} `) + 1;
  if (start === 0 && !text.startsWith(`${name} `)) return undefined;
  const end = text.indexOf('\n', start);
  return parseNumber(text.slice(start + name.length + 1, end === -1 ? undefined : end));
}

/** Of `cgroup.procs`; a process of another namespace stands there as 0. */
export function parsePids(text: string): number[] {
  return parseWords(text)
    .map(Number)
    .filter((pid) => Number.isInteger(pid) && pid > 0);
}
