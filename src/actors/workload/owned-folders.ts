/**
 * Owns how folders of a sandbox lie on disk: those above it are ours, those in it its own.
 *
 * 1. What runs in a sandbox replaces none of the folders above its own, so that a path we use never
 *    leads elsewhere.
 * 2. Removal never follows a link, also while what is removed is being changed.
 */
import { execFile } from 'node:child_process';
import { chmod, chown, lstat, mkdir, rmdir } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** The folders of an app or a database. What lies in those of its own is 0700 and belongs to it. */
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

  /** Makes them, and others of ours and of its own beside them. Again is fine. */
  protected async makeAll(ours: string, theirs: readonly string[] = []): Promise<void> {
    for (const folder of [this.root, ours]) await makeOurs(folder, this.uid);
    for (const folder of [this.data, this.home, this.temp, ...theirs]) {
      await makeTheirs(folder, this.uid);
    }
  }
}

/** Ours, 0710, with the group of `uid`: it may walk through. Null: no uid of its own. */
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

/** The folder alone, not what is in it. */
export async function handOver(folder: string, uid: number | null): Promise<void> {
  await chmod(folder, 0o700);
  if (uid !== null) await chown(folder, uid, uid);
}

/** The folder with all that is in it. `chown` walks by directory handles, see `removeTree`. */
export async function handOverTree(folder: string, uid: number): Promise<void> {
  await run('/bin/chown', ['-RhP', `${String(uid)}:${String(uid)}`, '--', folder]);
}

/**
 * Removes a tree that may be changing at this moment. `rm` walks by directory handles and cannot be
 * led astray by a link put in between, which a walk by paths can.
 */
export async function removeTree(folder: string): Promise<void> {
  // The common case of nothing or an empty folder starts no process.
  const emptied = await rmdir(folder).then(
    () => true,
    (error: unknown) => (error as NodeJS.ErrnoException).code === 'ENOENT',
  );
  if (!emptied) await run('/bin/rm', ['-rf', '--', folder]);
}
