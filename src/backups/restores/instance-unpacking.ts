/**
 * Owns unpacking the backup of an instance into an empty folder, which only this process can enter.
 *
 * 1. Whoever made the artifact writes nothing elsewhere: every name is made anew (O_EXCL), below a folder that was
 *    made here, and nothing is reached through a link. `..`, absolute names and all but files, folders and links
 *    are refused.
 * 2. Links are as they were, and only inside of what belongs to an app or a database: those make any link
 *    themselves, and nobody follows them there. Programs have links among themselves.
 * 3. Modes and times are as they were, and so are owners of what belongs to an app or a database: nothing of ours
 *    becomes theirs. No file runs as its owner by a bit.
 */
import { chmod, type FileHandle, lchown, mkdir, open, symlink, utimes } from 'node:fs/promises';
import { constants } from 'node:fs';
import { quoted, unsafe } from '../../archives/formats/refusals.ts';
import { artifactFile } from '../../store/files/snapshot.ts';
import { corrupt } from '../streams/refusals.ts';
import { type ReadEntry, tarEntries } from '../tar/tar-entries.ts';
import { staysBelow } from '../tar/tar-tree.ts';
import { type ArtifactKind, kindBytes, kindOf, kindOfTar, misfit } from './artifact-kind.ts';
import { unfit } from './failures.ts';
import { firstBytes } from './first-bytes.ts';

export interface Unpacked {
  files: number;
  bytes: number;
}

const { O_CREAT, O_EXCL, O_NOFOLLOW, O_WRONLY } = constants;
const newFile = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW;
const isRoot = process.getuid?.() === 0;
const pathBytesMax = 4_000;
const describedMaxBytes = 64 * 1024;
/** What belongs to an app or a database, as `places/app-folders.ts` and `places/database-folders.ts` say. */
const theirs = /^apps\/[^/]+\/(?:releases\/[^/]+|data[^/]*|home|tmp|run)(?=\/|$)/;
const programs = 'apps/programs/';
const ownUid = process.getuid?.() ?? 0;
const holeBytes = 64 * 1024;
const zeros = Buffer.alloc(holeBytes);

/**
 * `bytes` is what was inside the compression. Rejects with ARTIFACT_UNFIT, ARTIFACT_CORRUPT, ARCHIVE_UNSAFE_ENTRY
 * and the errors of `bytes`: what was unpacked until then is of no use.
 */
export async function unpackInstance(
  bytes: AsyncIterable<Uint8Array>,
  into: string,
  seen: (unpacked: Unpacked) => void = () => undefined,
): Promise<Unpacked> {
  const { first, whole } = await firstBytes(bytes, kindBytes);
  const kind = kindOf(first);
  if (kind !== 'tar') throw unfitFor(kind);
  const tree = new Tree(into);
  const unpacked: Unpacked = { files: 0, bytes: 0 };
  let isFirst = true;
  for await (const entry of tarEntries(whole)) {
    if (isFirst) await checkDescription(entry);
    else await tree.add(entry);
    isFirst = false;
    if (entry.type !== 'file') continue;
    unpacked.files += 1;
    unpacked.bytes += entry.size;
    seen(unpacked);
  }
  if (isFirst) throw unfitFor(null);
  await tree.finish();
  return unpacked;
}

function unfitFor(kind: ArtifactKind | null): Error {
  return kind === null ? unfit('The file is no backup of an instance.') : misfit(kind, 'instance');
}

/** The first entry tells what the tar is. */
async function checkDescription({ name, type, size, content }: ReadEntry): Promise<void> {
  const path = name.toString();
  if (path !== artifactFile || type !== 'file') throw unfitFor(kindOfTar(new Set([path])));
  if (size > describedMaxBytes) throw corrupt(`its ${artifactFile} is too long`);
  const chunks: Uint8Array[] = [];
  for await (const chunk of content) chunks.push(Buffer.from(chunk));
  const { version } = parsed(Buffer.concat(chunks));
  if (version !== 1) throw unfit('The backup was made by a later version of Gangway.');
}

function parsed(bytes: Buffer): { version?: unknown } {
  try {
    return JSON.parse(bytes.toString()) as { version?: unknown };
  } catch (error) {
    throw corrupt(`its ${artifactFile} is no JSON`, error);
  }
}

class Tree {
  readonly #into: Buffer;
  /** Those that were made, by their names as Latin-1, with how they are to be in the end. */
  readonly #folders = new Map<string, ReadEntry | null>([['', null]]);

  constructor(into: string) {
    this.#into = Buffer.from(`${into}/`);
  }

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
    for (const [path, entry] of [...this.#folders].reverse()) {
      if (entry === null) continue;
      const at = this.#at(path);
      await own((uid, gid) => lchown(at, uid, gid), path, entry);
      await chmod(at, modeOf(path, entry));
      await utimes(at, entry.mtimeMs / 1000, entry.mtimeMs / 1000);
    }
    for (const path of this.#folders.keys()) await syncFolder(this.#at(path));
  }

  async #make(entry: ReadEntry, path: string): Promise<void> {
    const at = this.#at(path);
    switch (entry.type) {
      case 'folder':
        await mkdir(at, { mode: 0o700 });
        this.#folders.set(path, entry);
        return;
      case 'link':
        if (!mayBeLink(path, entry.target)) throw unsafe(path, 'is a link, which may not be there');
        await symlink(entry.target, at);
        await own((uid, gid) => lchown(at, uid, gid), path, entry);
        return;
      case 'file': {
        const file = await open(at, newFile, 0o600);
        try {
          await fill(file, entry);
          await own((uid, gid) => file.chown(uid, gid), path, entry);
          await file.chmod(modeOf(path, entry));
          await file.sync();
        } finally {
          await file.close();
        }
      }
    }
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

/** Gives it to whom it belonged. The groups of ours let apps walk through. */
async function own(
  chown: (uid: number, gid: number) => Promise<void>,
  path: string,
  { owner }: ReadEntry,
): Promise<void> {
  if (!isRoot || !path.startsWith('apps/')) return;
  await chown(theirs.test(path) ? owner.uid : ownUid, owner.gid);
}

function modeOf(path: string, { mode }: ReadEntry): number {
  return theirs.test(path) ? mode : mode & 0o755;
}

function mayBeLink(path: string, target: Buffer): boolean {
  if (target.length === 0) return false;
  const above = theirs.exec(path)?.[0];
  if (above !== undefined) return path.length > above.length;
  const depth = path.split('/').length - programs.split('/').length;
  return path.startsWith(programs) && staysBelow(target.toString('latin1'), depth);
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
