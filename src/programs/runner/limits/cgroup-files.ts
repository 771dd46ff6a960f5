/**
 * Owns the kernel's control group files: their forms, as pure functions over their text, and single reads
 * and writes in a tree of groups.
 *
 * Sources: proc(5) for mountinfo, cgroups(7), and the kernel's cgroup-v1 and cgroup-v2 manuals.
 */
import fs from 'node:fs';
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

/** Where the groups of one instance are. */
export interface Tree {
  version: 1 | 2;
  /** Our folder for each controller; on version 2 the same for all. */
  dirs: ReadonlyMap<Controller, string>;
}

/** Throws for what is not there. */
export function readControl(dir: string, name: string): string {
  return fs.readFileSync(path.join(dir, name), 'utf8');
}

/** False when the kernel does not take it. */
export function control(dir: string, name: string, value: string): boolean {
  try {
    fs.writeFileSync(path.join(dir, name), value);
    return true;
  } catch {
    return false; // Which limit is missing is told by who asks.
  }
}

/** The groups in a group, by name; none when it is gone. */
export function groupsIn(dir: string): string[] {
  try {
    return fs
      .readdirSync(dir, { withFileTypes: true })
      .flatMap((entry) => (entry.isDirectory() ? [entry.name] : []));
  } catch {
    return []; // It is gone.
  }
}

/** A group and all below it, the deepest first: what has rights to it may have made some. */
export function* wholeGroup(dir: string): Generator<string, void> {
  for (const name of groupsIn(dir)) yield* wholeGroup(path.join(dir, name));
  yield dir;
}

/** Makes a group of which nobody else lists what is in it: names of workloads are theirs. */
export function makeClosed(dir: string): void {
  fs.mkdirSync(dir, { recursive: true });
  fs.chmodSync(dir, 0o711);
}

/** Leaves one that has groups or processes. */
export function removeEmpty(dir: string): void {
  try {
    fs.rmdirSync(dir);
  } catch {
    // It is in use, or gone.
  }
}

/** False while somebody is still in it. */
export function removeGroup(dir: string): boolean {
  for (const one of wholeGroup(dir)) {
    try {
      fs.rmdirSync(one);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') return false;
    }
  }
  return true;
}
