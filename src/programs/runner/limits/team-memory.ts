/**
 * Owns what memory of the machine workloads may take that have no limit of their own, by the groups above theirs:
 * one of all, and in it one of each team.
 *
 * 1. All together leave the machine a part: for Gangway, the runner, and whatever else runs there.
 * 2. Where there are several teams, none has more than three quarters of the rest. A team that takes all of its
 *    part meets that bound, not the one of all: its own processes are ended, and nobody else's.
 * 3. A bound is not put below what is used already: that would end processes that were let in.
 */
import fs from 'node:fs';
import path from 'node:path';

import {
  control,
  findFlat,
  groupsIn,
  makeClosed,
  parseNumber,
  readControl,
  removeEmpty,
} from './cgroup-files.ts';
import type { Tree } from './cgroup-files.ts';
import { mebibyte } from './confinement.ts';

export const teamPrefix = 't-';
const [reserveMin, reserveMax] = [384 * mebibyte, 2048 * mebibyte];

/** What is left to all workloads of a machine with so much. */
export function memoryForAll(machineBytes: number): number {
  const reserve = Math.min(Math.max(machineBytes / 8, reserveMin), reserveMax);
  return Math.floor(machineBytes - Math.min(reserve, machineBytes / 2));
}

export function memoryForOne(allBytes: number): number {
  return Math.floor((allBytes * 3) / 4);
}

export class TeamMemory {
  readonly #tree: Tree;
  /** Null: nothing bounds memory here. */
  readonly #all: number | null;

  constructor(tree: Tree, machineBytes: number) {
    this.#tree = tree;
    const dir = tree.dirs.get('memory');
    if (dir === undefined) {
      this.#all = null;
      return;
    }
    const above = parseNumber(read(path.dirname(dir), this.#limitFile)) ?? machineBytes;
    this.#all = memoryForAll(Math.min(machineBytes, above));
    this.#bound(dir, this.#all);
  }

  /** Before a workload of a team runs. `handDown` is called with each folder that is new. */
  open(team: string, handDown: (dir: string) => void): void {
    const name = `${teamPrefix}${team}`;
    for (const dir of this.#dirs) {
      const own = path.join(dir, name);
      if (fs.existsSync(own)) continue;
      makeClosed(own);
      handDown(own);
    }
    const teams = this.#teams();
    // The second one changes what the first may have.
    this.#divide(teams.length === 2 ? teams : [name], teams.length);
  }

  /** One of its workloads is gone. */
  left(team: string): void {
    for (const dir of this.#dirs) removeEmpty(path.join(dir, `${teamPrefix}${team}`));
    const teams = this.#teams();
    if (teams.length === 1) this.#divide(teams, 1);
  }

  #divide(changed: readonly string[], teams: number): void {
    const dir = this.#tree.dirs.get('memory');
    if (dir === undefined || this.#all === null) return;
    const each = teams > 1 ? memoryForOne(this.#all) : this.#all;
    for (const name of changed) this.#bound(path.join(dir, name), each);
  }

  #teams(): string[] {
    const dir = this.#tree.dirs.get('memory');
    return dir === undefined ? [] : groupsIn(dir).filter((name) => name.startsWith(teamPrefix));
  }

  get #dirs(): ReadonlySet<string> {
    return new Set(this.#tree.dirs.values());
  }

  /** Version 1 refuses by itself what is used already, and cannot be given back. */
  #bound(dir: string, bytes: number): void {
    if (this.#tree.version === 1 || usedIn(dir) < bytes) {
      control(dir, this.#limitFile, String(bytes));
    }
  }

  get #limitFile(): string {
    return this.#tree.version === 2 ? 'memory.max' : 'memory.limit_in_bytes';
  }
}

/** On version 2, without contents of files, which the kernel gives back at any time. */
function usedIn(dir: string): number {
  const stat = read(dir, 'memory.stat');
  const [files = 0, shared = 0] = [findFlat(stat, 'file'), findFlat(stat, 'shmem')];
  return (parseNumber(read(dir, 'memory.current')) ?? 0) - files + shared;
}

function read(dir: string, name: string): string {
  try {
    return readControl(dir, name);
  } catch {
    return ''; // The top of the tree has no bound.
  }
}
