/** Owns single reads and writes in a tree of control groups. */
import fs from 'node:fs';
import path from 'node:path';

import type { Controller } from './cgroup-files.ts';

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
