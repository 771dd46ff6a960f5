/**
 * Owns our place in the machine's control groups: one folder a data directory, one in it for each
 * workload, on version 1 (each controller a tree of its own) and version 2 (one tree).
 *
 * 1. Folders are named by instance, so that two Gangways never meet; what a runner left behind is
 *    found by the next one of its instance, what an instance that is gone left is removed by any.
 * 2. On version 1, and as root on version 2, they lie at the top of the tree; without root below the
 *    group that was delegated to us.
 */
import fs from 'node:fs';
import net from 'node:net';
import path from 'node:path';

import type { Logger } from '../../../lib/log.ts';
import type { Resources } from '../../../store/records.ts';
import { parseMounts, parseOwnV2, parseWords } from './cgroup-files.ts';
import type { Controller } from './cgroup-files.ts';
import { CgroupConfinement } from './cgroup-confinement.ts';
import { control, readControl, removeDir } from './cgroup-tree.ts';
import type { Tree } from './cgroup-tree.ts';
import type { Confinement, Limits } from './confinement.ts';

/** What there is to find control groups by; files of `/proc` and who we are. */
export interface CgroupHost {
  mountinfo: string;
  /** `/proc/self/cgroup`. */
  selfCgroup: string;
  isRoot: boolean;
}

const folderPrefix = 'gangway-';
const groupPrefix = 'w-';
/** A group of another instance that is younger may be about to be used. */
const foreignAgeMs = 60_000;

export function readCgroupHost(): CgroupHost {
  return {
    mountinfo: fs.readFileSync('/proc/self/mountinfo', 'utf8'),
    selfCgroup: fs.readFileSync('/proc/self/cgroup', 'utf8'),
    isRoot: process.getuid?.() === 0,
  };
}

/** Undefined where no groups of ours can be made. */
export function openCgroups(
  host: CgroupHost,
  instance: string,
  logger: Logger,
): CgroupLimits | undefined {
  const folder = `${folderPrefix}${instance}`;
  const { v1, v2 } = parseMounts(host.mountinfo);
  const own = parseOwnV2(host.selfCgroup);
  if (v2 !== undefined) {
    const ownDir = path.resolve(v2, `.${own ?? ''}`);
    const bases = host.isRoot ? [v2, ownDir] : [path.dirname(ownDir), ownDir];
    for (const base of bases) {
      const tree = base.startsWith(v2) ? openV2(base, base === ownDir, folder) : undefined;
      if (tree) return new CgroupLimits(tree, logger);
    }
  }
  const tree = openV1(v1, folder);
  return tree && new CgroupLimits(tree, logger);
}

function openV1(mounts: ReadonlyMap<Controller, string>, folder: string): Tree | undefined {
  const dirs = new Map<Controller, string>();
  for (const [controller, mount] of mounts) {
    const dir = path.join(mount, folder);
    try {
      fs.mkdirSync(dir, { recursive: true });
      dirs.set(controller, dir);
    } catch {
      // Not ours to make groups in: this controller limits nothing.
    }
  }
  return dirs.has('memory') || dirs.has('cpu') || dirs.has('pids')
    ? { version: 1, dirs }
    : undefined;
}

function openV2(base: string, isOwn: boolean, folder: string): Tree | undefined {
  const dir = path.join(base, folder);
  try {
    if (!offers(base)) return undefined;
    fs.mkdirSync(dir, { recursive: true });
    hand(base, isOwn);
    hand(dir, false);
    const dirs = new Map<Controller, string>();
    for (const word of parseWords(readControl(dir, 'cgroup.subtree_control'))) {
      if (word === 'memory' || word === 'cpu' || word === 'pids') dirs.set(word, dir);
    }
    if (dirs.size > 0) return { version: 2, dirs };
  } catch {
    // Not ours to make groups in.
  }
  removeDir(dir);
  return undefined;
}

/** Whether there is anything to hand down; a hybrid machine has its controllers on version 1. */
function offers(dir: string): boolean {
  const offered = parseWords(readControl(dir, 'cgroup.controllers'));
  return offered.includes('memory') || offered.includes('pids');
}

/** Lets groups below have the controllers; each by itself, since one may be refused. */
function hand(dir: string, isOwn: boolean): void {
  const handed = new Set(parseWords(readControl(dir, 'cgroup.subtree_control')));
  const offered = new Set(parseWords(readControl(dir, 'cgroup.controllers')));
  const wanted = ['memory', 'cpu', 'pids'].filter((name) => offered.has(name) && !handed.has(name));
  const rest = wanted.filter((name) => !control(dir, 'cgroup.subtree_control', `+${name}`));
  if (rest.length === 0 || !isOwn) return;
  // A group with groups below it may hold no processes: all of a delegated one are ours.
  const leaf = path.join(dir, 'gangway-self');
  fs.mkdirSync(leaf, { recursive: true });
  for (const pid of parseWords(readControl(dir, 'cgroup.procs'))) {
    control(leaf, 'cgroup.procs', pid);
  }
  for (const name of rest) control(dir, 'cgroup.subtree_control', `+${name}`);
}

export class CgroupLimits implements Limits {
  readonly kind: 'cgroup-v1' | 'cgroup-v2';
  readonly missing: Limits['missing'];
  readonly #tree: Tree;
  readonly #logger: Logger;

  constructor(tree: Tree, logger: Logger) {
    this.#tree = tree;
    this.#logger = logger;
    this.kind = tree.version === 1 ? 'cgroup-v1' : 'cgroup-v2';
    const lacks = (controller: Controller): boolean => !tree.dirs.has(controller);
    this.missing = [
      ...(lacks('memory') ? (['memory'] as const) : []),
      ...(lacks('cpu') ? (['cpus'] as const) : []),
      ...(lacks('pids') ? (['pids'] as const) : []),
    ];
  }

  confinementOf(id: string, resources: Resources): Confinement {
    return new CgroupConfinement(this.#tree, `${groupPrefix}${id}`, resources, this.#logger);
  }

  sweep(known: ReadonlySet<string>): void {
    for (const name of this.#groups()) {
      if (known.has(name.slice(groupPrefix.length))) continue;
      const left = this.#left(name);
      left.kill();
      left.close();
    }
    for (const dir of new Set(this.#tree.dirs.values())) removeStrangers(dir);
  }

  close(): void {
    for (const name of this.#groups()) this.#left(name).close();
    for (const dir of new Set(this.#tree.dirs.values())) removeDir(dir);
  }

  #left(name: string): Confinement {
    return new CgroupConfinement(this.#tree, name, null, this.#logger);
  }

  #groups(): Set<string> {
    const found = new Set<string>();
    for (const dir of this.#tree.dirs.values()) {
      for (const name of namesIn(dir)) if (name.startsWith(groupPrefix)) found.add(name);
    }
    return found;
  }
}

/** Removes what instances left that have no runner now: groups that are empty and not new. */
function removeStrangers(ours: string): void {
  const base = path.dirname(ours);
  for (const name of namesIn(base)) {
    if (!name.startsWith(folderPrefix) || name === path.basename(ours)) continue;
    const dir = path.join(base, name);
    const age = Date.now() - (fs.statSync(dir, { throwIfNoEntry: false })?.mtimeMs ?? Infinity);
    if (age < foreignAgeMs) continue;
    whenFree(name.slice(folderPrefix.length), () => {
      for (const group of namesIn(dir)) {
        if (group.startsWith(groupPrefix)) removeDir(path.join(dir, group));
      }
      removeDir(dir);
    });
  }
}

/** The lock of a runner is a name of the kernel's: who answers there lives. */
function whenFree(instance: string, then: () => void): void {
  const socket = net.connect(`\0gangway-runner-${instance}`);
  socket.once('connect', () => socket.destroy());
  socket.once('error', then);
  socket.unref();
}

function namesIn(dir: string): string[] {
  try {
    return fs
      .readdirSync(dir, { withFileTypes: true })
      .flatMap((entry) => (entry.isDirectory() ? [entry.name] : []));
  } catch {
    return []; // It is gone.
  }
}
