/**
 * Owns copying a tree of files that somebody else may change meanwhile. It may be copied into the same
 * folder again and again: only what is missing or differs is copied.
 *
 * 1. A copy has the times of its source, taken before the source was read. A file that changes
 *    while it is copied therefore differs the next time.
 * 2. Files and folders are synced, unless nobody wants that. A link is copied as a link. Pipes, sockets and devices stay out.
 * 3. Nothing that somebody does to the source fails a copy: what cannot be copied is told.
 * 4. Nothing in the target is written over: what differs is removed, and made anew.
 */
import type { Stats } from 'node:fs';
import { copyBytes, holesMaxBytes } from './bytes.ts';
import type { OpenFile } from './calls.ts';
import { depthMax, type Folder, ignoreChange, type Name, within } from './folder.ts';
import { removeIn } from './remove.ts';

/** Why something is not in a copy: it is no file, it was changed or closed at that moment, it lies too deep. */
export type Missed = 'special' | 'changed' | 'deep';

export interface TreeCopy {
  /** Whether what has this path stays out. Paths begin below the folder that is copied. */
  leaves: (path: string) => boolean;
  /** Called for each file that was looked at. */
  seen?: (bytes: number) => void;
  missed?: (path: string, why: Missed) => void;
  /** False: the copy need not outlive a power cut. */
  synced?: boolean;
}

/** A folder on its way into another one. */
interface Level {
  from: Folder;
  to: Folder;
  /** Its path; '' for the top. */
  path: string;
  depth: number;
}

const isRoot = process.getuid?.() === 0;

/** Resolves with how many files were copied. `path` is what the paths of `from` begin with. */
export function copyTree(from: Folder, to: Folder, copy: TreeCopy, path = ''): Promise<number> {
  return copyLevel({ from, to, path, depth: 0 }, copy);
}

async function copyLevel(level: Level, copy: TreeCopy): Promise<number> {
  let copied = 0;
  for await (const name of level.from.names()) {
    const path = below(level.path, name);
    if (copy.leaves(path)) continue;
    try {
      copied += await copyEntry(level, name, path, copy);
    } catch (error) {
      if (error instanceof CopyFailed) throw error;
      throw new CopyFailed(path, error);
    }
  }
  if (copy.synced !== false) await level.to.self.sync();
  return copied;
}

/** Names the file, which has no name of its own in the system's error. */
class CopyFailed extends Error {
  override readonly name = 'CopyFailed';
  readonly code: unknown;

  constructor(path: string, cause: unknown) {
    super(`Cannot copy ${JSON.stringify(path)}: ${String(cause)}`, { cause });
    this.code = (cause as { code?: unknown } | null)?.code;
  }
}

async function copyEntry(level: Level, name: Name, path: string, copy: TreeCopy): Promise<number> {
  const found = await level.from.lstat(name).catch(ignoreChange);
  if (found === undefined) return 0;
  if (found.isDirectory()) return copyFolder(level, name, path, copy);
  if (found.isSymbolicLink()) {
    if (!(await copyLink(level, name, found))) await tellChanged(level, name, path, copy);
  } else if (!found.isFile()) copy.missed?.(path, 'special');
  else {
    const copied = await copyChanged(level, name, found, copy.synced);
    if (copied === null) await tellChanged(level, name, path, copy);
    copy.seen?.(bytesIn(found));
    return copied === true ? 1 : 0;
  }
  return 0;
}

/** What vanished is missing in no copy. */
async function tellChanged(
  { from }: Level,
  name: Name,
  path: string,
  copy: TreeCopy,
): Promise<void> {
  const found = await from.lstat(name).catch(ignoreChange);
  if (found !== undefined) copy.missed?.(path, 'changed');
}

async function copyFolder(level: Level, name: Name, path: string, copy: TreeCopy): Promise<number> {
  const { from, to, depth } = level;
  if (depth === depthMax) {
    copy.missed?.(path, 'deep');
    return 0;
  }
  const source = await from.folder(name).catch(ignoreChange);
  if (source === undefined) {
    await tellChanged(level, name, path, copy);
    return 0;
  }
  return within(Promise.resolve(source), () =>
    within(folderAt(to, name), async (target) => {
      // Its own mode may keep us out.
      await target.self.chmod(0o700);
      const inner = { from: source, to: target, path, depth: depth + 1 };
      const copied = await copyLevel(inner, copy);
      await dress(target.self, await source.self.stat());
      return copied;
    }),
  );
}

/** The folder of this name in a copy, in the place of whatever else has the name. */
async function folderAt(to: Folder, name: Name): Promise<Folder> {
  const found = await to.lstat(name).catch(ignoreMissing);
  if (found?.isDirectory()) return to.folder(name);
  if (found !== undefined) await to.unlink(name);
  await to.mkdir(name);
  return to.folder(name);
}

async function copyLink({ from, to }: Level, name: Name, found: Stats): Promise<boolean> {
  const target = await from.readlink(name).catch(ignoreChange);
  if (target === undefined) return false;
  await removeIn(to, name);
  await to.symlink(name, target);
  if (isRoot) await to.chown(name, found.uid, found.gid);
  return true;
}

/** Copies a file where it differs. Resolves with whether it did; null: it cannot be read now. */
export async function copyChanged(
  { from, to }: Pick<Level, 'from' | 'to'>,
  name: Name,
  found: Stats,
  synced = true,
): Promise<boolean | null> {
  const copied = await to.lstat(name).catch(ignoreMissing);
  if (copied?.isFile() && isSame(copied, found)) return false;
  const source = await from.file(name).catch(ignoreChange);
  if (source === undefined) return null;
  try {
    const now = await source.stat();
    await removeIn(to, name);
    const target = await to.create(name);
    try {
      await copyBytes(source, target);
      await dress(target, now);
      if (synced) await target.sync();
      await target.utimes(now.atime, now.mtime);
    } finally {
      await target.close();
    }
  } finally {
    await source.close();
  }
  return true;
}

function isSame(copied: Stats, found: Stats): boolean {
  return copied.size === found.size && Math.abs(copied.mtimeMs - found.mtimeMs) < 1;
}

/** Gives a copy the mode of its source and, where we can, its owner. */
export async function dress(
  target: Pick<OpenFile, 'chmod' | 'chown'>,
  { uid, gid, mode }: Stats,
): Promise<void> {
  if (isRoot) await target.chown(uid, gid);
  await target.chmod(mode & 0o7777);
}

export interface FileCount {
  files: number;
  bytes: number;
}

/** Without the holes of a file that is little else: they are not copied. */
function bytesIn({ size, blocks }: Stats): number {
  return Math.min(size, blocks * 512 + holesMaxBytes);
}

/** Adds how many files, and bytes in them, a copy would look at now. */
export async function measureTree(
  from: Folder,
  leaves: TreeCopy['leaves'],
  total: FileCount,
  path = '',
  depth = 0,
): Promise<void> {
  for await (const name of from.names()) {
    const inner = below(path, name);
    if (leaves(inner)) continue;
    const found = await from.lstat(name).catch(ignoreChange);
    if (found?.isDirectory() && depth < depthMax) {
      const folder = await from.folder(name).catch(ignoreChange);
      if (folder === undefined) continue;
      await within(Promise.resolve(folder), (at) =>
        measureTree(at, leaves, total, inner, depth + 1),
      );
    }
    if (!found?.isFile()) continue;
    total.files += 1;
    total.bytes += bytesIn(found);
  }
}

function below(path: string, name: Buffer): string {
  return path === '' ? name.toString() : `${path}/${name.toString()}`;
}

function ignoreMissing(error: unknown): undefined {
  if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
}
