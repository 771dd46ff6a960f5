/**
 * Owns copying a tree of files. It may be copied into the same place again and again: only what is
 * missing or differs is copied.
 *
 * 1. A copy has the times of its source, taken before the source was read. A file that changes
 *    while it is copied therefore differs the next time.
 * 2. Files and folders are synced. Sockets and pipes stay out: they belong to running processes.
 */
import { constants } from 'node:fs';
import {
  chmod,
  copyFile,
  lchown,
  lstat,
  mkdir,
  open as openFile,
  readdir,
  readlink,
  rm,
  symlink,
  utimes,
} from 'node:fs/promises';
import { join } from 'node:path';

export interface TreeCopy {
  /** Whether a source stays out, told by its whole path. */
  leaves: (source: string) => boolean;
  /** Called for each file that was looked at. */
  seen?: (bytes: number) => void;
}

/** Resolves with how many files were copied. A file that vanishes meanwhile is left out. */
export async function copyTree(from: string, to: string, copy: TreeCopy): Promise<number> {
  const names = await readdir(from).catch(ignoreGone);
  let copied = 0;
  for (const name of names ?? []) {
    const source = join(from, name);
    if (copy.leaves(source)) continue;
    const found = await lstat(source).catch(ignoreGone);
    if (found === undefined) continue;
    const target = join(to, name);
    if (found.isDirectory()) {
      await mkdir(target, { recursive: true, mode: 0o700 });
      copied += await copyTree(source, target, copy);
      await chmod(target, found.mode & 0o7777);
    } else if (found.isSymbolicLink()) {
      await copyLink(source, target);
    } else if (found.isFile()) {
      if (await copyChanged(source, target)) copied += 1;
      copy.seen?.(found.size);
    } else {
      continue;
    }
    if (process.getuid?.() === 0) await lchown(target, found.uid, found.gid).catch(ignoreGone);
  }
  await syncFile(to);
  return copied;
}

export interface FileCount {
  files: number;
  bytes: number;
}

/** Adds how many files, and bytes in them, a copy would look at now. */
export async function measureTree(
  from: string,
  leaves: TreeCopy['leaves'],
  total: FileCount,
): Promise<void> {
  for (const name of (await readdir(from).catch(ignoreGone)) ?? []) {
    const source = join(from, name);
    if (leaves(source)) continue;
    const found = await lstat(source).catch(ignoreGone);
    if (found?.isDirectory()) await measureTree(source, leaves, total);
    if (!found?.isFile()) continue;
    total.files += 1;
    total.bytes += found.size;
  }
}

/** Copies a file where it differs. Resolves with whether it did. */
export async function copyChanged(source: string, target: string): Promise<boolean> {
  const [now, copied] = await Promise.all([
    lstat(source).catch(ignoreGone),
    lstat(target).catch(ignoreGone),
  ]);
  if (now === undefined) return false;
  if (copied?.size === now.size && Math.abs(copied.mtimeMs - now.mtimeMs) < 1) return false;
  try {
    // A clone where the file system can make one, else a plain copy.
    await copyFile(source, target, constants.COPYFILE_FICLONE);
  } catch (error) {
    if (isGone(error)) return false;
    throw error;
  }
  await chmod(target, now.mode & 0o7777);
  await syncFile(target);
  await utimes(target, now.atime, now.mtime);
  return true;
}

async function copyLink(source: string, target: string): Promise<void> {
  const to = await readlink(source).catch(ignoreGone);
  if (to === undefined) return;
  await rm(target, { force: true });
  await symlink(to, target);
}

/** A file, or the names in a folder. */
export async function syncFile(path: string): Promise<void> {
  const file = await openFile(path, 'r');
  try {
    await file.sync();
  } finally {
    await file.close();
  }
}

export function isGone(error: unknown): boolean {
  return (error as { code?: unknown }).code === 'ENOENT';
}

export function ignoreGone(error: unknown): undefined {
  if (!isGone(error)) throw error;
}
