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

/** A group that still has processes, or groups, stays. */
export function removeDir(dir: string): void {
  try {
    fs.rmdirSync(dir);
  } catch {
    // Somebody is still in it, or it is gone.
  }
}
