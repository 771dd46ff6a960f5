/**
 * Owns how the folders of a sandbox lie on disk: the upper ones are ours, those inside are its own.
 *
 * 1. A program in a sandbox can replace none of the folders above its own, so that a path we use never
 *    leads elsewhere.
 * 2. What lies in its folders is reached by `lib/untrusted-files` alone.
 */
import { basename, join } from 'node:path';

import { ensureLive } from '../../backups/restores/folder-swap.ts';
import { makeOurs, makeTheirs } from '../../lib/untrusted-files/owners.ts';

/** The folders of an app or a database. Its own folders are 0700 and belong to it. */
export class OwnedFolders {
  readonly root: string;
  readonly data: string;
  readonly home: string;
  readonly temp: string;
  /** Null: everything belongs to the uid of this process. */
  protected readonly uid: number | null;

  constructor(parent: string, id: string, uid: number | null) {
    this.root = join(parent, id);
    this.data = join(this.root, 'data');
    this.home = join(this.root, 'home');
    this.temp = join(this.root, 'tmp');
    this.uid = uid;
  }

  /** For `WorkloadSpec.files`. */
  get files(): { root: string; temp: string } {
    return { root: this.root, temp: this.temp };
  }

  /** Makes these folders, and others of ours and of its own beside them. May be repeated. */
  protected async makeAll(ours: string, theirs: readonly string[] = []): Promise<void> {
    for (const folder of [this.root, ours]) await makeOurs(folder, this.uid);
    // A restore may have been cut off while its data took the place of this.
    await ensureLive({ root: this.root, data: basename(this.data), uid: this.uid });
    for (const folder of [this.data, this.home, this.temp, ...theirs]) {
      await makeTheirs(folder, this.uid);
    }
  }
}
