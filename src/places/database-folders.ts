/**
 * Owns the folders of a database on this machine.
 *
 *   <root>/<database>                     0710  ours, group of the database
 *   <root>/<database>/conf                0710  ours, group of the database
 *   <root>/<database>/{data,home,tmp,run} 0700  the database's
 *
 * 1. We write where the database cannot, so that a name in our way never leads elsewhere; but for its
 *    empty folders, before anything of it has run.
 */
import { chmod, chown, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { handOverTree, removeTree } from '../lib/untrusted-files/remove.ts';
import { makeOurs } from '../lib/untrusted-files/owners.ts';
import type { DatabaseFiles as FilesOfSnapshots } from '../store/files/snapshot.ts';
import { DatabasePaths, makeAll } from './owned-folders.ts';
import type { DatabaseFiles, FilesOwner, OwnTrees } from './place.ts';
import { LocalTrees } from './trees.ts';

// A lock file names the process that holds it, and a server does not start beside such a file.
const ofProcesses = /^(?:run|tmp)\/|^data\/(?:postmaster\.(?:pid|opts)|[^/]+\.pid)$/;

/**
 * Which files a copy of a database needs: all but those of its processes. It also says in which order to
 * read them while the server writes. Paths are relative to the folder of a database.
 */
export const databaseFiles: FilesOfSnapshots = {
  isFolder: (name) => /^db_[0-9a-z]+$/.test(name),
  isOfProcesses: (path) => ofProcesses.test(path),
  // PostgreSQL replays its log from the checkpoint that this file names.
  checkpoint: 'data/global/pg_control',
  log: 'data/pg_wal',
};

export class DatabaseFolders extends DatabasePaths implements DatabaseFiles {
  readonly #uid: number | null;
  readonly trees: OwnTrees;

  constructor(root: string, { id, uid }: FilesOwner) {
    super(root, id);
    this.#uid = uid;
    this.trees = new LocalTrees({ uid, ensure: () => this.ensure(), rootOf: () => this.root });
  }

  async makeAnew(): Promise<void> {
    await removeTree(this.root);
    await this.ensure();
  }

  async ensure(): Promise<void> {
    await makeAll(this, this.#uid, { ours: this.conf, theirs: [this.run] });
  }

  async write(name: string, text: string): Promise<string> {
    const file = this.confFile(name);
    await writeFile(file, text, { mode: 0o640 });
    await this.#share(file, this.#uid);
    return file;
  }

  async writeData(name: string, text: string): Promise<void> {
    await writeFile(join(this.data, name), text, { mode: 0o600 });
  }

  async lend(uid: number | null): Promise<void> {
    if (uid !== null) await this.#give(uid);
  }

  async handOver(): Promise<void> {
    if (this.#uid !== null) await this.#give(this.#uid);
  }

  async remove(): Promise<void> {
    await removeTree(this.root);
  }

  /** Makes the file readable for the database's programs, whatever the umask. */
  async #share(file: string, uid: number | null): Promise<void> {
    if (uid !== null) await chown(file, process.getuid?.() ?? 0, uid);
    await chmod(file, 0o640);
  }

  async #give(uid: number): Promise<void> {
    await makeOurs(this.root, uid);
    await makeOurs(this.conf, uid);
    for (const name of await readdir(this.conf)) await this.#share(join(this.conf, name), uid);
    const own = [this.data, this.home, this.temp, this.run];
    for (const folder of own) await handOverTree(folder, uid);
  }
}
