/**
 * Owns removing, and handing over, a tree that somebody else may change meanwhile.
 *
 * 1. Nothing outside the tree is touched, and no link is followed.
 * 2. A tree of any depth is removed: what lies too deep is moved up first.
 * 3. It ends: a tree that is filled again all the while is refused.
 */
import { randomUUID } from 'node:crypto';
import { basename, dirname } from 'node:path';
import { depthMax, Folder, type Name, within } from './folder.ts';

/** How often a tree is gone through that is not empty afterwards. */
const passesMax = 20;
/** How often it is gone through because of what was moved up. */
const movesMax = 10_000;

/** Removes what has this path. The folder above it must be one that nobody else can change. */
export async function removeTree(path: string): Promise<void> {
  const above = await Folder.open(dirname(path)).catch(ignoreGone);
  if (above === undefined) return;
  await within(Promise.resolve(above), (folder) => removeIn(folder, basename(path)));
}

/** Removes what has this name in the folder, whatever it is. */
export async function removeIn(folder: Folder, name: Name): Promise<void> {
  for (let passes = 0, moves = 0; passes < passesMax && moves < movesMax;) {
    if (await isUnlinked(folder, name)) return;
    const inner = await folder.folder(name).catch(ignoreGone);
    if (inner !== undefined) {
      const moved = await within(Promise.resolve(inner), () => empty(inner, inner, 0));
      if (moved) moves += 1;
      else passes += 1;
    } else passes += 1;
    if (await isRemoved(folder, name)) return;
  }
  throw new Error('Cannot remove a folder: it is filled again all the while');
}

/** Resolves with whether something was moved up to the top, which then is not empty. */
async function empty(folder: Folder, top: Folder, depth: number): Promise<boolean> {
  // As root nothing keeps us out.
  if (process.getuid?.() !== 0) await folder.self.chmod(0o700);
  let moved = false;
  for await (const name of folder.names()) {
    if (await isUnlinked(folder, name)) continue;
    if (depth === depthMax) {
      await folder.move(name, top, randomUUID()).catch(ignoreGone);
      moved = true;
      continue;
    }
    const inner = await folder.folder(name).catch(ignoreGone);
    if (inner === undefined) continue;
    if (await within(Promise.resolve(inner), () => empty(inner, top, depth + 1))) moved = true;
    await isRemoved(folder, name);
  }
  return moved;
}

/** False: it is a folder. */
function isUnlinked(folder: Folder, name: Name): Promise<boolean> {
  return folder.unlink(name).then(
    () => true,
    (error: unknown) => {
      const { code } = error as NodeJS.ErrnoException;
      if (code === 'ENOENT') return true;
      // Linux says EISDIR of a folder, others what POSIX says.
      if (code === 'EISDIR' || (code === 'EPERM' && process.platform !== 'linux')) return false;
      throw error;
    },
  );
}

/** False: it is not empty, or no folder any more. */
function isRemoved(folder: Folder, name: Name): Promise<boolean> {
  return folder.rmdir(name).then(
    () => true,
    (error: unknown) => {
      const { code } = error as NodeJS.ErrnoException;
      if (code === 'ENOENT') return true;
      if (code === 'ENOTEMPTY' || code === 'EEXIST' || code === 'ENOTDIR') return false;
      throw error;
    },
  );
}

function ignoreGone(error: unknown): undefined {
  const { code } = error as NodeJS.ErrnoException;
  if (code !== 'ENOENT' && code !== 'ENOTDIR' && code !== 'ELOOP') throw error;
}

/** Gives the folder of this path, and all in it, to a uid. */
export async function handOverTree(path: string, uid: number): Promise<void> {
  await within(Folder.open(path), (folder) => handOver(folder, uid, 0));
}

async function handOver(folder: Folder, uid: number, depth: number): Promise<void> {
  if (depth > depthMax)
    throw new Error(`Cannot hand over files: they lie ${depthMax} folders deep`);
  for await (const name of folder.names()) {
    if ((await folder.lstat(name)).isDirectory()) {
      await within(folder.folder(name), (inner) => handOver(inner, uid, depth + 1));
    } else await folder.chown(name, uid, uid);
  }
  await folder.self.chown(uid, uid);
}
