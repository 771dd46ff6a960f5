/**
 * Owns the folders of apps on disk, their owners and modes.
 *
 *   <appsRoot>                      0711
 *   <appsRoot>/<app>                0710  ours, group of the app
 *   <appsRoot>/<app>/releases       0710  ours, group of the app
 *   <appsRoot>/<app>/releases/<id>  0700  the app's
 *   <appsRoot>/<app>/{data,home,tmp} 0700  the app's
 *   <uploadsRoot>/<app>             0700  ours
 *
 * 1. An app reaches its own folders and no other's; it can replace none of the folders above them,
 *    so that a path we use never leads elsewhere.
 * 2. Removal never follows a link, also while the app changes what is removed.
 */
import { mkdir, open, readdir, rename, rm, stat, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { removeTree } from '../../lib/untrusted-files/remove.ts';
import { handOver } from '../../lib/untrusted-files/owners.ts';
import { OwnedFolders } from '../workload/owned-folders.ts';

export interface AppFoldersOptions {
  appsRoot: string;
  uploadsRoot: string;
  appId: string;
  /** Null: everything belongs to the uid of this process. */
  uid: number | null;
}

export class AppFolders extends OwnedFolders {
  readonly uploads: string;
  readonly #appsRoot: string;
  readonly #releases: string;

  constructor({ appsRoot, uploadsRoot, appId, uid }: AppFoldersOptions) {
    super(appsRoot, appId, uid);
    this.uploads = join(uploadsRoot, appId);
    this.#appsRoot = appsRoot;
    this.#releases = join(this.root, 'releases');
  }

  release(name: string): string {
    return join(this.#releases, name);
  }

  upload(blob: string): string {
    return join(this.uploads, blob);
  }

  /** Makes the folders that an app needs before it builds or starts. May be repeated. */
  async ensure(): Promise<void> {
    await mkdir(this.#appsRoot, { recursive: true, mode: 0o711 });
    await this.makeAll(this.#releases);
  }

  async hasUpload(blob: string): Promise<boolean> {
    return stat(this.upload(blob)).then(
      (found) => found.isFile(),
      () => false,
    );
  }

  async ensureUploads(): Promise<string> {
    await mkdir(this.uploads, { recursive: true, mode: 0o700 });
    return this.uploads;
  }

  /** Gives an archive that has arrived its final name, durably. */
  async placeUpload(arrivedAs: string, blob: string): Promise<void> {
    await rename(this.upload(arrivedAs), this.upload(blob));
    const folder = await open(this.uploads, 'r');
    try {
      await folder.sync();
    } finally {
      await folder.close();
    }
  }

  /** An empty folder for a release. The content of an earlier try is removed. */
  async prepareRelease(name: string): Promise<string> {
    await this.ensure();
    await this.removeRelease(name);
    const folder = this.release(name);
    // We own the folder while it is filled; then it is handed over with its content.
    await mkdir(folder, { mode: 0o700 });
    return folder;
  }

  async handOver(name: string): Promise<void> {
    await handOver(this.release(name), this.uid);
  }

  async removeRelease(name: string): Promise<void> {
    await removeTree(this.release(name));
  }

  /** Removes every release but those named, and what a crash left half done. */
  async keepReleases(names: ReadonlySet<string>): Promise<void> {
    for (const name of await list(this.#releases)) {
      if (!names.has(name)) await removeTree(join(this.#releases, name));
    }
  }

  async keepUploads(blobs: ReadonlySet<string>): Promise<void> {
    for (const name of await list(this.uploads)) {
      if (!blobs.has(name)) await rm(this.upload(name), { recursive: true, force: true });
    }
  }

  async removeUpload(blob: string): Promise<void> {
    await unlink(this.upload(blob)).catch(ignoreMissing);
  }

  async removeAll(): Promise<void> {
    await removeTree(this.root);
    await rm(this.uploads, { recursive: true, force: true });
  }
}

async function list(folder: string): Promise<string[]> {
  return readdir(folder).catch((error: unknown) => {
    ignoreMissing(error);
    return [];
  });
}

function ignoreMissing(error: unknown): void {
  if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
}
