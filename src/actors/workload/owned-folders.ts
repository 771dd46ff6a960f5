/**
 * Owns how the folders of a sandbox lie on disk: the upper ones are ours, those inside are its own.
 *
 * 1. A program in a sandbox can replace none of the folders above its own, so that a path we use never
 *    leads elsewhere.
 * 2. What lies in its folders is reached by `lib/untrusted-files` alone.
 */
import { chmod, chown, lstat, mkdir } from 'node:fs/promises';
import { basename, join } from 'node:path';

import { ensureLive } from '../../backups/restores/folder-swap.ts';

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

/** Ours, 0710, with the group of `uid`, which may walk through. Null: no uid of its own. */
export async function makeOurs(folder: string, uid: number | null): Promise<void> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  if (uid !== null) await chown(folder, process.getuid?.() ?? 0, uid);
  await chmod(folder, 0o710);
}

/** 0700, belonging to `uid`. */
async function makeTheirs(folder: string, uid: number | null): Promise<void> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const { uid: owner } = await lstat(folder);
  if (owner !== (uid ?? owner)) await handOver(folder, uid);
}

/** Hands over the folder, not its content. */
export async function handOver(folder: string, uid: number | null): Promise<void> {
  await chmod(folder, 0o700);
  if (uid !== null) await chown(folder, uid, uid);
}
