/**
 * Owns the system calls of this folder.
 *
 * They are made by the threads of libuv, so that they hold up nobody. A thread that serves nobody makes them
 * itself: for small files that takes a twentieth of the processor.
 */
import fs, { type Stats } from 'node:fs';
import promises, { type FileHandle } from 'node:fs/promises';

/** An open file or folder. */
export interface OpenFile extends Pick<FileHandle, 'fd' | 'close'> {
  stat(): Promise<Stats>;
  read(
    into: Uint8Array,
    offset: number,
    length: number,
    position: number,
  ): Promise<{ bytesRead: number }>;
  write(
    bytes: Uint8Array,
    offset: number,
    length: number,
    position: number,
  ): Promise<{ bytesWritten: number }>;
  /** All of it, behind what was written. */
  writeFile(bytes: Uint8Array): Promise<void>;
  truncate(length: number): Promise<void>;
  utimes(atime: Date, mtime: Date): Promise<void>;
  chmod(mode: number): Promise<void>;
  chown(uid: number, gid: number): Promise<void>;
  sync(): Promise<void>;
}

export interface Calls {
  open(path: Buffer | string, flags: number, mode?: number): Promise<OpenFile>;
  names(path: Buffer): AsyncIterable<Buffer>;
  lstat(path: Buffer): Promise<Stats>;
  readlink(path: Buffer): Promise<Buffer>;
  mkdir(path: Buffer, mode: number): Promise<void>;
  symlink(target: Buffer, path: Buffer): Promise<void>;
  lchown(path: Buffer, uid: number, gid: number): Promise<void>;
  rename(path: Buffer, to: Buffer): Promise<void>;
  unlink(path: Buffer): Promise<void>;
  rmdir(path: Buffer): Promise<void>;
}

// The types do not know this encoding, with which names are Buffers.
const encoding = 'buffer' as string as BufferEncoding;
/** Names that are read from the disk at once. */
const reading = { encoding, bufferSize: 256 };

const byOthers: Calls = {
  ...promises,
  open: (path, flags, mode) => promises.open(path, flags, mode),
  async *names(path) {
    for await (const { name } of await promises.opendir(path, reading)) yield nameOf(name);
  },
  readlink: (path) => promises.readlink(path, 'buffer'),
  mkdir: (path, mode) => promises.mkdir(path, { mode }).then(() => undefined),
};

const byThisThread: Calls = {
  open: (path, flags, mode) => now(() => new HeldFile(fs.openSync(path, flags, mode))),
  async *names(path) {
    const dir = await now(() => fs.opendirSync(path, reading));
    try {
      for (let entry = dir.readSync(); entry !== null; entry = dir.readSync()) {
        yield nameOf(entry.name);
      }
    } finally {
      dir.closeSync();
    }
  },
  lstat: (path) => now(() => fs.lstatSync(path)),
  readlink: (path) => now(() => fs.readlinkSync(path, 'buffer')),
  mkdir: (path, mode) => now(() => fs.mkdirSync(path, { mode })),
  symlink: (target, path) => now(() => fs.symlinkSync(target, path)),
  lchown: (path, uid, gid) => now(() => fs.lchownSync(path, uid, gid)),
  rename: (path, to) => now(() => fs.renameSync(path, to)),
  unlink: (path) => now(() => fs.unlinkSync(path)),
  rmdir: (path) => now(() => fs.rmdirSync(path)),
};

/** Those that this thread uses. */
export let calls = byOthers;

/** For a thread that serves nobody: from here on its calls hold it until they are done. */
export function callInThisThread(isWanted = true): void {
  calls = isWanted ? byThisThread : byOthers;
}

class HeldFile implements OpenFile {
  readonly fd: number;

  constructor(fd: number) {
    this.fd = fd;
  }

  stat(): Promise<Stats> {
    return now(() => fs.fstatSync(this.fd));
  }

  read(
    into: Uint8Array,
    offset: number,
    length: number,
    position: number,
  ): Promise<{ bytesRead: number }> {
    return now(() => ({ bytesRead: fs.readSync(this.fd, into, offset, length, position) }));
  }

  write(
    bytes: Uint8Array,
    offset: number,
    length: number,
    position: number,
  ): Promise<{ bytesWritten: number }> {
    return now(() => ({ bytesWritten: fs.writeSync(this.fd, bytes, offset, length, position) }));
  }

  writeFile(bytes: Uint8Array): Promise<void> {
    return now(() => fs.writeFileSync(this.fd, bytes));
  }

  truncate(length: number): Promise<void> {
    return now(() => fs.ftruncateSync(this.fd, length));
  }

  utimes(atime: Date, mtime: Date): Promise<void> {
    return now(() => fs.futimesSync(this.fd, atime, mtime));
  }

  chmod(mode: number): Promise<void> {
    return now(() => fs.fchmodSync(this.fd, mode));
  }

  chown(uid: number, gid: number): Promise<void> {
    return now(() => fs.fchownSync(this.fd, uid, gid));
  }

  sync(): Promise<void> {
    return now(() => fs.fsyncSync(this.fd));
  }

  close(): Promise<void> {
    return now(() => fs.closeSync(this.fd));
  }
}

/** What the call returns, or throws. */
function now<T>(call: () => T): Promise<T> {
  return new Promise((resolve) => resolve(call()));
}

function nameOf(name: string): Buffer {
  return name as unknown as Buffer;
}
