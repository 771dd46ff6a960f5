/**
 * Owns reading a release's folder. Strangers wrote its content: links are not followed, and no file is
 * read beyond a limit.
 */
import { constants } from 'node:fs';
import { access, lstat, open } from 'node:fs/promises';
import { join } from 'node:path';

const readMaxBytes = 1024 * 1024;

export class Source {
  readonly folder: string;

  constructor(folder: string) {
    this.folder = folder;
  }

  async hasFile(...path: string[]): Promise<boolean> {
    return (await this.#kind(path)) === 'file';
  }

  async hasFolder(...path: string[]): Promise<boolean> {
    return (await this.#kind(path)) === 'folder';
  }

  /** The text of a file; null when the file is missing or larger than 1 MiB. */
  async text(...path: string[]): Promise<string | null> {
    if (!(await this.hasFile(...path))) return null;
    const file = await open(join(this.folder, ...path), constants.O_RDONLY | constants.O_NOFOLLOW);
    try {
      const { size } = await file.stat();
      return size > readMaxBytes ? null : await file.readFile('utf8');
    } finally {
      await file.close();
    }
  }

  async #kind(path: string[]): Promise<'file' | 'folder' | null> {
    try {
      const found = await lstat(join(this.folder, ...path));
      if (found.isFile()) return 'file';
      return found.isDirectory() ? 'folder' : null;
    } catch {
      // The caller treats a missing file and an unreadable one alike.
      return null;
    }
  }
}

/** The first program with this name in the folders of a PATH. */
export async function findProgram(path: readonly string[], name: string): Promise<string | null> {
  for (const folder of path) {
    const program = join(folder, name);
    const usable = await access(program, constants.X_OK).then(
      () => true,
      () => false,
    );
    if (usable) return program;
  }
  return null;
}
