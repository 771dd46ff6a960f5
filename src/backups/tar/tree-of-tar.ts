/**
 * Owns making files, folders and links of a tar that `tar-tree.ts` wrote faithfully, in an empty folder that only this
 * process can enter.
 *
 * 1. Whoever made the tar writes nothing elsewhere: every name is made anew (O_EXCL), below a folder that was made here,
 *    and nothing is reached through a link. `..`, absolute names and all but files, folders and links are refused.
 * 2. Modes and times are as they were; what is a link, whose all is and with which mode is for the rules to say.
 */
import { chmod, type FileHandle, lchown, mkdir, open, symlink, utimes } from 'node:fs/promises';
import { constants } from 'node:fs';
import { quoted, unsafe } from '../../archives/formats/refusals.ts';
import { corrupt } from '../streams/refusals.ts';
import type { ReadEntry } from './tar-entries.ts';

/** Paths are Latin-1, by which each byte is one character. */
export interface TreeRules {
  mayBeLink: (path: string, target: Buffer) => boolean;
  /** Null: this process. */
  ownerOf: (path: string, entry: ReadEntry) => { uid: number; gid: number } | null;
  modeOf: (path: string, entry: ReadEntry) => number;
  /** Whether each file is on stable storage before the next is made. */
  syncs: boolean;
}

const { O_CREAT, O_EXCL, O_NOFOLLOW, O_WRONLY } = constants;
const newFile = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW;
const pathBytesMax = 4_000;
const holeBytes = 64 * 1024;
const zeros = Buffer.alloc(holeBytes);

export class TreeOfTar {
  readonly #into: Buffer;
  readonly #rules: TreeRules;
  /** Those that were made, by their names as Latin-1, with how they are to be in the end. */
  readonly #folders = new Map<string, ReadEntry | null>([['', null]]);

  constructor(into: string, rules: TreeRules) {
    this.#into = Buffer.from(`${into}/`);
    this.#rules = rules;
  }

  /** Reads all of its content. */
  async add(entry: ReadEntry): Promise<void> {
    const path = checkedPath(entry);
    if (this.#folders.get(parentOf(path)) === undefined) {
      throw unsafe(path, 'lies in no folder of the artifact');
    }
    try {
      await this.#make(entry, path);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
      throw corrupt(`the name ${quoted(path)} stands for two things`);
    }
  }

  /** Folders last, the inner ones first: their own modes may keep us out. */
  async finish(): Promise<void> {
    const { modeOf, syncs } = this.#rules;
    for (const [path, entry] of [...this.#folders].reverse()) {
      if (entry === null) continue;
      const at = this.#at(path);
      await this.#own((uid, gid) => lchown(at, uid, gid), path, entry);
      await chmod(at, modeOf(path, entry));
      await utimes(at, entry.mtimeMs / 1000, entry.mtimeMs / 1000);
    }
    if (!syncs) return;
    for (const path of this.#folders.keys()) await syncFolder(this.#at(path));
  }

  async #make(entry: ReadEntry, path: string): Promise<void> {
    const at = this.#at(path);
    const { mayBeLink, modeOf, syncs } = this.#rules;
    switch (entry.type) {
      case 'folder':
        await mkdir(at, { mode: 0o700 });
        this.#folders.set(path, entry);
        return;
      case 'link':
        if (!mayBeLink(path, entry.target)) throw unsafe(path, 'is a link, which may not be there');
        await symlink(entry.target, at);
        await this.#own((uid, gid) => lchown(at, uid, gid), path, entry);
        return;
      case 'file': {
        const file = await open(at, newFile, 0o600);
        try {
          await fill(file, entry);
          await this.#own((uid, gid) => file.chown(uid, gid), path, entry);
          await file.chmod(modeOf(path, entry));
          if (syncs) await file.sync();
        } finally {
          await file.close();
        }
      }
    }
  }

  async #own(
    chown: (uid: number, gid: number) => Promise<void>,
    path: string,
    entry: ReadEntry,
  ): Promise<void> {
    const owner = this.#rules.ownerOf(path, entry);
    if (owner !== null) await chown(owner.uid, owner.gid);
  }

  #at(path: string): Buffer {
    return Buffer.concat([this.#into, Buffer.from(path, 'latin1')]);
  }
}

async function fill(file: FileHandle, entry: ReadEntry): Promise<void> {
  let at = 0;
  for await (const chunk of entry.content) {
    for (let done = 0; done < chunk.length; done += holeBytes) {
      const part = chunk.subarray(done, done + holeBytes);
      if (!zeros.subarray(0, part.length).equals(part)) await writeAll(file, part, at + done);
    }
    at += chunk.length;
  }
  await file.truncate(at);
  await file.utimes(entry.mtimeMs / 1000, entry.mtimeMs / 1000);
}

async function writeAll(file: FileHandle, bytes: Uint8Array, position: number): Promise<void> {
  for (let done = 0; done < bytes.length;) {
    const { bytesWritten } = await file.write(bytes, done, bytes.length - done, position + done);
    done += bytesWritten;
  }
}

async function syncFolder(path: Buffer): Promise<void> {
  const folder = await open(path, constants.O_RDONLY | constants.O_DIRECTORY | O_NOFOLLOW);
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}

/** The name of an entry as Latin-1, by which each byte is one character. */
function checkedPath({ name, type }: ReadEntry): string {
  const text = name.toString('latin1');
  const path = type === 'folder' && text.endsWith('/') ? text.slice(0, -1) : text;
  if (name.length > pathBytesMax) throw unsafe(path, 'has too long a name');
  for (const part of path.split('/')) {
    if (part === '' || part === '.') throw unsafe(path, 'has an absolute or an empty name');
    if (part === '..') throw unsafe(path, 'leaves the artifact with ".."');
  }
  return path;
}

function parentOf(path: string): string {
  return path.slice(0, Math.max(0, path.lastIndexOf('/')));
}
