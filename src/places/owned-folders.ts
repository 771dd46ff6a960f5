/**
 * Owns how the folders of a sandbox lie on disk: the upper ones are ours, those inside are its own.
 *
 * 1. A program in a sandbox can replace none of the folders above its own, so that a path we use never
 *    leads elsewhere.
 * 2. What lies in its folders is reached by `lib/untrusted-files` alone.
 */
import { basename, join } from 'node:path';

import { ensureLive } from '../backups/restores/folder-swap.ts';
import { makeOurs, makeTheirs } from '../lib/untrusted-files/owners.ts';
import type { FilesOwner, OwnPaths } from './place.ts';

/** What an app or a database keeps, as a tree. */
export const dataTree = 'data';

/** The paths alone: they follow from the folder of all and the id, on whatever machine that is. */
export class OwnedPaths implements OwnPaths {
  readonly root: string;
  readonly data: string;
  readonly home: string;
  readonly temp: string;

  constructor(parent: string, id: string) {
    this.root = join(parent, id);
    this.data = join(this.root, dataTree);
    this.home = join(this.root, 'home');
    this.temp = join(this.root, 'tmp');
  }

  get files(): { root: string; temp: string } {
    return { root: this.root, temp: this.temp };
  }
}

export class AppPaths extends OwnedPaths {
  readonly releases: string;

  constructor(parent: string, id: string) {
    super(parent, id);
    this.releases = join(this.root, 'releases');
  }

  release(name: string): string {
    return join(this.releases, name);
  }
}

export class DatabasePaths extends OwnedPaths {
  readonly run: string;
  /** Of files that its programs may read alone. */
  readonly conf: string;

  constructor(parent: string, id: string) {
    super(parent, id);
    this.run = join(this.root, 'run');
    this.conf = join(this.root, 'conf');
  }

  confFile(name: string): string {
    return join(this.conf, name);
  }
}

/** Makes these folders, and others of ours and of its own beside them. May be repeated. */
export async function makeAll(
  paths: OwnPaths,
  uid: FilesOwner['uid'],
  { ours, theirs = [] }: { ours: string; theirs?: readonly string[] },
): Promise<void> {
  for (const folder of [paths.root, ours]) await makeOurs(folder, uid);
  // A restore may have been cut off while its data took the place of this.
  await ensureLive({ root: paths.root, data: basename(paths.data), uid });
  for (const folder of [paths.data, paths.home, paths.temp, ...theirs]) {
    await makeTheirs(folder, uid);
  }
}
