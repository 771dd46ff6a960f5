/**
 * Owns the folders of apps on the disk of this machine, their owners and modes.
 *
 *   <appsRoot>                      0711
 *   <appsRoot>/<app>                0710  ours, group of the app
 *   <appsRoot>/<app>/releases       0710  ours, group of the app
 *   <appsRoot>/<app>/releases/<id>  0700  the app's
 *   <appsRoot>/<app>/{data,home,tmp} 0700  the app's
 *
 * 1. An app reaches its own folders and no other's; it can replace none of the folders above them,
 *    so that a path we use never leads elsewhere.
 * 2. Removal never follows a link, also while the app changes what is removed.
 */
import { mkdir, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { BulkPool, Extracted } from '../archives/receiving/bulk-pool.ts';
import { removeTree } from '../lib/untrusted-files/remove.ts';
import { handOver } from '../lib/untrusted-files/owners.ts';
import { AppPaths, dataTree, makeAll } from './owned-folders.ts';
import type { AppFiles, FilesOwner, OwnTrees, SourceArchive, UnpackOptions } from './place.ts';
import { ReleaseFolder } from './release-source.ts';
import { LocalTrees } from './trees.ts';

export type Extractor = Pick<BulkPool, 'extract'>;

export interface AppFoldersOptions extends FilesOwner {
  appsRoot: string;
  extractor: Extractor;
}

export class AppFolders extends AppPaths implements AppFiles {
  readonly #appsRoot: string;
  readonly #extractor: Extractor;
  readonly #uid: number | null;
  readonly trees: OwnTrees;

  constructor({ appsRoot, id, uid, extractor }: AppFoldersOptions) {
    super(appsRoot, id);
    this.#appsRoot = appsRoot;
    this.#extractor = extractor;
    this.#uid = uid;
    this.trees = new LocalTrees({
      uid,
      ensure: () => this.ensure(),
      rootOf: (tree) => (tree === dataTree ? this.root : this.releases),
    });
  }

  source(name: string): ReleaseFolder {
    return new ReleaseFolder(this.release(name));
  }

  async ensure(): Promise<void> {
    await mkdir(this.#appsRoot, { recursive: true, mode: 0o711 });
    await makeAll(this, this.#uid, { ours: this.releases });
  }

  async unpack(
    name: string,
    { path, format, keepsSoleFolder }: SourceArchive,
    { isOurs = false, signal }: UnpackOptions,
  ): Promise<Extracted> {
    const folder = await this.emptyRelease(name);
    const uid = isOurs ? null : this.#uid;
    const extracted = await this.#extractor.extract(path, format, folder, {
      ...{ uid, keepsSoleFolder, signal },
    });
    if (!isOurs) await handOver(folder, uid);
    return extracted;
  }

  async emptyRelease(name: string): Promise<string> {
    await this.ensure();
    await this.removeRelease(name);
    const folder = this.release(name);
    await mkdir(folder, { mode: 0o700 });
    return folder;
  }

  async removeRelease(name: string): Promise<void> {
    await removeTree(this.release(name));
  }

  async keepReleases(names: ReadonlySet<string>): Promise<void> {
    for (const name of await list(this.releases)) {
      if (!names.has(name)) await removeTree(join(this.releases, name));
    }
  }

  async remove(): Promise<void> {
    await removeTree(this.root);
  }
}

async function list(folder: string): Promise<string[]> {
  return readdir(folder).catch((error: unknown) => {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    return [];
  });
}
