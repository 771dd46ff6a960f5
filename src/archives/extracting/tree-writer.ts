/**
 * Owns the writing of an archive's entries below one folder that only this process can enter.
 *
 * 1. Files are created (O_EXCL, O_NOFOLLOW); an existing file is never opened.
 * 2. Symbolic links are made last, when nothing more is written, so nothing is written through one.
 * 3. Modes are 0644 and 0755. Owners are set on the way, the owner of the top folder last of all.
 */
import {
  chmodSync,
  closeSync,
  constants,
  fchownSync,
  lchownSync,
  linkSync,
  mkdirSync,
  openSync,
  symlinkSync,
  unlinkSync,
} from 'node:fs';
import { join } from 'node:path';
import { writeAllSync } from '../../lib/write-all.ts';
import type { ArchiveEntry, ArchiveVisitor } from '../formats/entry.ts';
import { parentOf } from '../formats/names.ts';

const { O_CREAT, O_EXCL, O_NOFOLLOW, O_WRONLY } = constants;
const newFile = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW;

export class TreeWriter implements ArchiveVisitor {
  readonly #root: string;
  readonly #uid: number | null;
  /** Called often; throws to stop. */
  readonly #check: () => void;
  readonly #folders = new Set<string>(['']);
  readonly #links = new Map<string, string>();
  #file: number | null = null;
  #bytes = 0;

  constructor(root: string, uid: number | null, check: () => void) {
    this.#root = root;
    this.#uid = uid;
    this.#check = check;
  }

  /** Bytes of files written. */
  get bytes(): number {
    return this.#bytes;
  }

  entry(entry: ArchiveEntry): void {
    this.#check();
    const { path, kind, target } = entry;
    switch (kind) {
      case 'directory':
        this.#makeFolder(path);
        return;
      case 'file':
        this.#makeFolder(parentOf(path));
        this.#file = this.#anew(path, () =>
          openSync(join(this.#root, path), newFile, entry.executable ? 0o755 : 0o644),
        );
        return;
      case 'symlink':
        this.#links.set(path, target);
        return;
      case 'hardlink':
        this.#makeFolder(parentOf(path));
        this.#anew(path, () => linkSync(join(this.#root, target), join(this.#root, path)));
    }
  }

  data(bytes: Uint8Array): void {
    this.#check();
    if (this.#file === null) return;
    writeAllSync(this.#file, bytes, null);
    this.#bytes += bytes.length;
  }

  endFile(): void {
    if (this.#file === null) return;
    if (this.#uid !== null) fchownSync(this.#file, this.#uid, this.#uid);
    this.close();
  }

  executable(path: string): void {
    chmodSync(join(this.#root, path), 0o755);
  }

  turnIntoSymlink(path: string, target: string): void {
    unlinkSync(join(this.#root, path));
    this.#links.set(path, target);
  }

  /** Makes the links and hands all but the root over to the uid. */
  finish(): void {
    for (const [path, target] of this.#links) {
      this.#check();
      this.#makeFolder(parentOf(path));
      const full = join(this.#root, path);
      symlinkSync(target, full);
      if (this.#uid !== null) lchownSync(full, this.#uid, this.#uid);
    }
    if (this.#uid === null) return;
    for (const folder of this.#folders) {
      if (folder !== '') lchownSync(join(this.#root, folder), this.#uid, this.#uid);
    }
  }

  /** Closes a file that is not complete. */
  close(): void {
    if (this.#file !== null) closeSync(this.#file);
    this.#file = null;
  }

  #makeFolder(path: string): void {
    if (this.#folders.has(path)) return;
    this.#makeFolder(parentOf(path));
    mkdirSync(join(this.#root, path), 0o755);
    this.#folders.add(path);
  }

  /**
   * In a tar the later of two files of one name wins. It becomes a new file: the old one is not written to.
   */
  #anew<T>(path: string, make: () => T): T {
    try {
      return make();
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
      unlinkSync(join(this.#root, path));
      return make();
    }
  }
}
