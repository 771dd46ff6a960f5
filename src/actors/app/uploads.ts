/**
 * Owns the folder of an app's archives, uploaded or fetched by git: `<uploadsRoot>/<app>`, 0700, ours. It lies on
 * this machine, wherever the app runs; no app may reach it.
 */
import { mkdir, open, readdir, rename, rm, stat, unlink } from 'node:fs/promises';
import { join } from 'node:path';

export class AppUploads {
  readonly folder: string;

  constructor(uploadsRoot: string, appId: string) {
    this.folder = join(uploadsRoot, appId);
  }

  file(blob: string): string {
    return join(this.folder, blob);
  }

  async has(blob: string): Promise<boolean> {
    return stat(this.file(blob)).then(
      (found) => found.isFile(),
      () => false,
    );
  }

  async ensure(): Promise<string> {
    await mkdir(this.folder, { recursive: true, mode: 0o700 });
    return this.folder;
  }

  /** Gives an archive that has arrived its final name, durably. */
  async place(arrivedAs: string, blob: string): Promise<void> {
    await rename(this.file(arrivedAs), this.file(blob));
    const folder = await open(this.folder, 'r');
    try {
      await folder.sync();
    } finally {
      await folder.close();
    }
  }

  async keep(blobs: ReadonlySet<string>): Promise<void> {
    for (const name of await this.#names()) {
      if (!blobs.has(name)) await rm(this.file(name), { recursive: true, force: true });
    }
  }

  async remove(blob: string): Promise<void> {
    await unlink(this.file(blob)).catch(ignoreMissing);
  }

  async removeAll(): Promise<void> {
    await rm(this.folder, { recursive: true, force: true });
  }

  #names(): Promise<string[]> {
    return readdir(this.folder).catch((error: unknown) => {
      ignoreMissing(error);
      return [];
    });
  }
}

function ignoreMissing(error: unknown): void {
  if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
}
