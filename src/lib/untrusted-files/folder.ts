/**
 * Owns the way to files that somebody else may change at any moment, such as those of an app.
 *
 * 1. A folder is an open handle. Each thing in it is reached by one name through that handle, so what is
 *    swapped above or beside it leads nowhere else.
 * 2. No link is followed, and only regular files are opened: what has the name is held first, without
 *    opening it (O_PATH), and the very file that was looked at is opened. A pipe, a socket or a device is
 *    told by its kind. So is a second name of a file that belongs to another than its folder.
 * 3. Nothing waits: a file that a program holds by a lease is refused with EAGAIN.
 * 4. Names are bytes, so that a name that is no text is copied and removed, too.
 *
 * Node has no openat. On Linux `/proc/self/fd/<handle>/<name>` is the same. Elsewhere (macOS) a folder is its
 * path: there apps run under our own uid, and could change those files themselves.
 */
import { constants, type Stats } from 'node:fs';
import { statfs } from 'node:fs/promises';
import { calls, type OpenFile } from './calls.ts';

export type Name = string | Buffer;

const byHandle = process.platform === 'linux';
const { O_CREAT, O_DIRECTORY, O_EXCL, O_NOFOLLOW, O_NONBLOCK, O_RDONLY, O_WRONLY } = constants;
/** Node does not name it; it is the same on all processors that Node runs on. */
const O_PATH = 0o10000000;

/** Each level of a walk holds open handles, and their number is limited. */
export const depthMax = 128;

/** What has a name and is not what was asked for. */
export type OtherKind =
  'folder' | 'link' | 'named pipe' | 'socket' | 'device' | 'link to a file of another owner';

export class NotAFile extends Error {
  override readonly name = 'NotAFile';
  readonly kind: OtherKind;

  constructor(kind: OtherKind) {
    super(`Cannot open it: it is a ${kind}`);
    this.kind = kind;
  }
}

export class Folder {
  readonly #handle: OpenFile;
  readonly #prefix: Buffer;

  private constructor(handle: OpenFile, path: Buffer) {
    this.#handle = handle;
    this.#prefix = byHandle ? Buffer.from(`${handlePath(handle)}/`) : joined(path, '/');
  }

  /** By a path that nobody else can change. */
  static async open(path: string): Promise<Folder> {
    return new Folder(await calls.open(path, O_RDONLY | O_DIRECTORY), Buffer.from(path));
  }

  /** The folder of this name. Rejects with ENOTDIR or ELOOP where it is anything else. */
  async folder(name: Name): Promise<Folder> {
    const path = this.#at(name);
    return new Folder(await calls.open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW), path);
  }

  /** The folder at the end of this path, one name after the other. */
  async below(path: readonly Name[]): Promise<Folder> {
    let at = await this.folder('.');
    for (const name of path) {
      const inner = at.folder(name);
      await inner.catch(() => undefined);
      await at.close();
      at = await inner;
    }
    return at;
  }

  /** A regular file, to read. Rejects with NotAFile. */
  async file(name: Name): Promise<OpenFile> {
    const path = this.#at(name);
    const held = await calls.open(path, (byHandle ? O_PATH : O_RDONLY | O_NONBLOCK) | O_NOFOLLOW);
    try {
      await this.#checkOwn(await held.stat());
      return await calls.open(byHandle ? handlePath(held) : path, O_RDONLY | O_NONBLOCK);
    } finally {
      await held.close();
    }
  }

  /** Makes a file, for us alone. Rejects with EEXIST where anything has this name. */
  create(name: Name): Promise<OpenFile> {
    return calls.open(this.#at(name), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0o600);
  }

  /** The names in it, in no order. What comes or goes meanwhile may be among them or not. */
  names(): AsyncIterable<Buffer> {
    return calls.names(joined(this.#prefix, '.'));
  }

  /** Of what has this name, be it a link. */
  lstat(name: Name): Promise<Stats> {
    return calls.lstat(this.#at(name));
  }

  mkdir(name: Name): Promise<void> {
    return calls.mkdir(this.#at(name), 0o700);
  }

  readlink(name: Name): Promise<Buffer> {
    return calls.readlink(this.#at(name));
  }

  symlink(name: Name, target: Buffer): Promise<void> {
    return calls.symlink(target, this.#at(name));
  }

  /** Also of a link; what the link names stays as it is. */
  chown(name: Name, uid: number, gid: number): Promise<void> {
    return calls.lchown(this.#at(name), uid, gid);
  }

  move(name: Name, to: Folder, newName: Name): Promise<void> {
    return calls.rename(this.#at(name), to.#at(newName));
  }

  /** Removes anything but a folder. Rejects with EISDIR or EPERM for a folder. */
  unlink(name: Name): Promise<void> {
    return calls.unlink(this.#at(name));
  }

  rmdir(name: Name): Promise<void> {
    return calls.rmdir(this.#at(name));
  }

  /** Bytes of its disk: how many there are, and how many we may still write. */
  async space(): Promise<{ total: number; free: number }> {
    const { blocks, bavail, bsize } = await statfs(joined(this.#prefix, '.'));
    return { total: blocks * bsize, free: bavail * bsize };
  }

  /** The folder itself: to look at, to give owner and mode, to sync. */
  get self(): Pick<OpenFile, 'stat' | 'chmod' | 'chown' | 'sync'> {
    return this.#handle;
  }

  close(): Promise<void> {
    return this.#handle.close();
  }

  #at(name: Name): Buffer {
    if (name.length === 0 || name.includes('/') || name.includes('\0') || isAbove(name)) {
      throw new Error('Cannot reach a file: this is no name');
    }
    return joined(this.#prefix, name);
  }

  /** A link to somebody else's file shows what its maker may not read. */
  async #checkOwn(found: Stats): Promise<void> {
    if (!found.isFile()) throw new NotAFile(kindOf(found));
    if (found.nlink > 1 && found.uid !== (await this.#handle.stat()).uid) {
      throw new NotAFile('link to a file of another owner');
    }
  }
}

/** Gives the folder to `work`, and closes it after that. */
export async function within<T>(
  opening: Promise<Folder>,
  work: (folder: Folder) => Promise<T>,
): Promise<T> {
  const folder = await opening;
  try {
    return await work(folder);
  } finally {
    await folder.close();
  }
}

/** All of a file; null when it has more than `maxBytes`. */
export async function readWhole(file: OpenFile, maxBytes: number): Promise<Buffer | null> {
  const { size } = await file.stat();
  if (size > maxBytes) return null;
  // It may grow while it is read.
  const bytes = Buffer.allocUnsafe(maxBytes + 1);
  for (let length = 0; length < bytes.length;) {
    const { bytesRead } = await file.read(bytes, length, bytes.length - length, length);
    if (bytesRead === 0) return Buffer.from(bytes.subarray(0, length));
    length += bytesRead;
  }
  return null;
}

// prettier-ignore
const changeCodes: ReadonlySet<unknown> = new Set([
  'ENOENT', 'ENOTDIR', 'ELOOP', 'EISDIR', 'EINVAL', 'ENAMETOOLONG', 'ESTALE', 'EAGAIN', 'EACCES',
]);

/** For a source that is read: undefined where somebody else changed it, or closed it to us. */
export function ignoreChange(error: unknown): undefined {
  const { code } = error as NodeJS.ErrnoException;
  if (!(error instanceof NotAFile) && !changeCodes.has(code)) throw error;
}

function kindOf(found: Stats): OtherKind {
  if (found.isDirectory()) return 'folder';
  if (found.isSymbolicLink()) return 'link';
  if (found.isFIFO()) return 'named pipe';
  return found.isSocket() ? 'socket' : 'device';
}

function handlePath({ fd }: OpenFile): string {
  return `/proc/self/fd/${String(fd)}`;
}

function isAbove(name: Name): boolean {
  return name.toString('latin1') === '..';
}

function joined(path: Buffer, name: Name): Buffer {
  return Buffer.concat([path, typeof name === 'string' ? Buffer.from(name) : name]);
}
