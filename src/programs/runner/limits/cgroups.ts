/**
 * Owns our place in the machine's control groups: one folder a data directory, one in it for each team, one in that
 * for each workload, on version 1 (each controller a tree of its own) and version 2 (one tree).
 *
 * 1. Folders are named by instance, so that two Gangways never meet; what a runner left behind is
 *    found by the next one of its instance, what an instance that is gone left is removed by any.
 * 2. On version 1, and as root on version 2, they lie at the top of the tree; without root below the
 *    group that was delegated to us.
 * 3. On version 2 a group but the top holds processes or hands controllers down, never both: a group that
 *    has processes of others is left as it is, one of ours is vacated before anything is handed down.
 */
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';

import type { Logger } from '../../../lib/log.ts';
import { mayGiveUids } from '../../../lib/processes/program-uids.ts';
import type { Resources } from '../../../protocol/workload.ts';
import { signalProcess } from '../../../lib/processes/processes.ts';
import { livingInstances } from '../instance.ts';
import {
  control,
  groupsIn,
  makeClosed,
  parseMounts,
  parseOwnV2,
  parsePids,
  parseWords,
  placeIn,
  readControl,
  removeGroup,
} from './cgroup-files.ts';
import type { Controller, Tree } from './cgroup-files.ts';
import { CgroupConfinement, type GroupsAbove } from './cgroup-confinement.ts';
import type { Confinement, Limits } from './confinement.ts';
import { TeamMemory, teamPrefix } from './team-memory.ts';

/** What there is to find control groups by; files of `/proc` and who we are. */
export interface CgroupHost {
  mountinfo: string;
  /** `/proc/self/cgroup`. */
  selfCgroup: string;
  /** Which may run programs as other users, too. */
  isRoot: boolean;
  /** Of the machine; absent: its memory is not divided. */
  memoryBytes?: number;
}

const folderPrefix = 'gangway-';
const groupPrefix = 'w-';
/** Where programs are until they join the group of their workload. */
const launchName = 'launching';
const teamName = /^[\w-]{1,100}$/;
/** Where processes go that were in a group which is to have groups. */
const ownLeaf = `${folderPrefix}self`;
/** What is moved may start others meanwhile. */
const vacateRounds = 10;
/** How long what is ended may take to be gone. */
const goneTries = 50;
const goneEveryMs = 100;
/** A group of another instance that is younger may be about to be used. */
const foreignAgeMs = 60_000;

export function readCgroupHost(): CgroupHost {
  return {
    mountinfo: fs.readFileSync('/proc/self/mountinfo', 'utf8'),
    selfCgroup: fs.readFileSync('/proc/self/cgroup', 'utf8'),
    isRoot: mayGiveUids(),
    memoryBytes: os.totalmem(),
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
  if (v2 !== undefined) {
    const own = placeIn(v2, parseOwnV2(host.selfCgroup) ?? '/');
    for (const base of basesOf(v2.dir, own, host.isRoot)) {
      const tree = openV2(base, base === own, folder);
      if (tree) return new CgroupLimits(tree, host.memoryBytes, logger);
    }
  }
  const tree = openV1(v1, folder);
  return tree && new CgroupLimits(tree, host.memoryBytes, logger);
}

/** Where our folder may be made on version 2, the best place first. */
function basesOf(top: string, own: string | undefined, isRoot: boolean): string[] {
  if (own === undefined || own === top) return isRoot || own === top ? [top] : [];
  // A unit whose processes were put into a group of their own leaves the one above it free.
  return isRoot ? [top, own] : [path.dirname(own), own];
}

function openV1(mounts: ReadonlyMap<Controller, string>, folder: string): Tree | undefined {
  const dirs = new Map<Controller, string>();
  for (const [controller, mount] of mounts) {
    const dir = path.join(mount, folder);
    try {
      makeClosed(dir);
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
    makeClosed(dir);
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
  removeGroup(dir);
  return undefined;
}

/** Whether there is anything to hand down; a hybrid machine has its controllers on version 1. */
function offers(dir: string): boolean {
  const offered = parseWords(readControl(dir, 'cgroup.controllers'));
  return offered.includes('memory') || offered.includes('pids');
}

/**
 * Lets groups below have the controllers; each by itself, since one may be refused. With processes in it
 * the kernel would hand down some of them and then take groups below for unusable.
 */
function hand(dir: string, isOwn: boolean): void {
  const handed = new Set(parseWords(readControl(dir, 'cgroup.subtree_control')));
  const offered = new Set(parseWords(readControl(dir, 'cgroup.controllers')));
  const wanted = ['memory', 'cpu', 'pids'].filter((name) => offered.has(name) && !handed.has(name));
  if (wanted.length === 0) return;
  if (!isTop(dir) && hasProcesses(dir) && !(isOwn && vacate(dir))) return;
  for (const name of wanted) control(dir, 'cgroup.subtree_control', `+${name}`);
}

/** The top of the tree, where nothing of this holds. */
function isTop(dir: string): boolean {
  return !fs.existsSync(path.join(dir, 'cgroup.type'));
}

function hasProcesses(dir: string): boolean {
  // One that we cannot see stands there as 0.
  return parseWords(readControl(dir, 'cgroup.procs')).length > 0;
}

/** Moves all out of a group that is ours, us among them; false when some stay. */
function vacate(dir: string): boolean {
  const leaf = path.join(dir, ownLeaf);
  fs.mkdirSync(leaf, { recursive: true });
  for (let round = 0; round < vacateRounds && hasProcesses(dir); round++) {
    for (const pid of parsePids(readControl(dir, 'cgroup.procs'))) {
      control(leaf, 'cgroup.procs', String(pid));
    }
  }
  return !hasProcesses(dir);
}

export class CgroupLimits implements Limits {
  readonly kind: 'cgroup-v1' | 'cgroup-v2';
  readonly missing: Limits['missing'];
  readonly #tree: Tree;
  readonly #logger: Logger;
  readonly #memory: TeamMemory | undefined;
  /** Undefined: nothing divides the processor. */
  readonly #launchDir: string | undefined;
  /** Groups on their way out, by name. */
  readonly #ending = new Map<string, NodeJS.Timeout>();

  constructor(tree: Tree, memoryBytes: number | undefined, logger: Logger) {
    this.#tree = tree;
    this.#memory = memoryBytes === undefined ? undefined : new TeamMemory(tree, memoryBytes);
    this.#logger = logger;
    this.kind = tree.version === 1 ? 'cgroup-v1' : 'cgroup-v2';
    const dir = tree.dirs.get('cpu');
    this.#launchDir = dir && path.join(dir, launchName);
    if (this.#launchDir !== undefined) fs.mkdirSync(this.#launchDir, { recursive: true });
    const limits = { memory: 'memory', cpus: 'cpu', pids: 'pids' } as const;
    const names = ['memory', 'cpus', 'pids'] as const;
    this.missing = names.filter((name) => !tree.dirs.has(limits[name]));
  }

  confinementOf(id: string, resources: Resources, team?: string): Confinement {
    const isInTeam = team !== undefined && teamName.test(team) && this.#memory !== undefined;
    const name = path.join(isInTeam ? `${teamPrefix}${team}` : '', `${groupPrefix}${id}`);
    this.#leave(name);
    // Where an earlier version put it.
    if (isInTeam && this.#groups().has(path.basename(name)))
      this.#end(path.basename(name), goneTries);
    const launching = this.#launchDir && path.join(this.#launchDir, 'cgroup.procs');
    const above = isInTeam ? this.#above(team) : undefined;
    return new CgroupConfinement(this.#tree, name, launching, resources, this.#logger, above);
  }

  sweep(known: ReadonlySet<string>): void {
    for (const name of this.#groups()) {
      if (!known.has(path.basename(name).slice(groupPrefix.length))) this.#end(name, goneTries);
    }
    for (const dir of new Set(this.#tree.dirs.values())) removeStrangers(dir);
  }

  close(): void {
    for (const name of this.#groups()) {
      this.#leave(name);
      this.#left(name).close();
    }
    for (const dir of new Set(this.#tree.dirs.values())) removeFolder(dir);
  }

  /** Ends what is in a group, and removes it once that is gone. */
  #end(name: string, tries: number): void {
    this.#ending.delete(name);
    const left = this.#left(name);
    left.kill();
    for (const pid of left.pids()) signalProcess(pid, 'SIGKILL');
    if (left.close() || tries === 0) return;
    const again = setTimeout(() => this.#end(name, tries - 1), goneEveryMs);
    this.#ending.set(name, again.unref());
  }

  #leave(name: string): void {
    clearTimeout(this.#ending.get(name));
    this.#ending.delete(name);
  }

  #left(name: string): Confinement {
    const [team = '', inner] = name.split('/');
    const above = inner === undefined ? undefined : this.#above(team.slice(teamPrefix.length));
    return new CgroupConfinement(this.#tree, name, undefined, null, this.#logger, above);
  }

  #above(team: string): GroupsAbove {
    return {
      open: () => {
        const handDown = (dir: string): void => {
          if (this.#tree.version === 2) hand(dir, false);
        };
        this.#memory?.open(team, handDown);
      },
      left: () => this.#memory?.left(team),
    };
  }

  /** Of workloads, those of teams with the name of the team's before theirs. */
  #groups(): Set<string> {
    const found = new Set<string>();
    for (const dir of this.#tree.dirs.values()) {
      for (const name of groupsIn(dir)) {
        if (name.startsWith(groupPrefix)) found.add(name);
        if (!name.startsWith(teamPrefix)) continue;
        for (const inner of groupsIn(path.join(dir, name))) {
          if (inner.startsWith(groupPrefix)) found.add(path.join(name, inner));
        }
      }
    }
    return found;
  }
}

/** Removes what instances left that have no runner now: groups that are empty and not new. */
function removeStrangers(ours: string): void {
  const base = path.dirname(ours);
  let living: ReadonlySet<string> | undefined;
  for (const name of groupsIn(base)) {
    if (!name.startsWith(folderPrefix) || name === path.basename(ours) || name === ownLeaf)
      continue;
    const dir = path.join(base, name);
    const age = Date.now() - (fs.statSync(dir, { throwIfNoEntry: false })?.mtimeMs ?? Infinity);
    if (age < foreignAgeMs) continue;
    living ??= livingInstances();
    if (living.has(name.slice(folderPrefix.length))) continue;
    for (const group of groupsIn(dir)) {
      if (group !== launchName) removeGroup(path.join(dir, group));
    }
    removeFolder(dir);
  }
}

/** One that has groups still stays, with them. */
function removeFolder(dir: string): void {
  if (groupsIn(dir).every((name) => name === launchName)) removeGroup(dir);
}
