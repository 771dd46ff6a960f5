/**
 * Owns copies of a data directory: taken while it is in use, and put back.
 *
 * 1. The store is copied at one transaction. Files are copied before and, as far as they changed,
 *    again after it: whatever a record names was there in one of the two.
 * 2. The target appears complete and synced, or not at all.
 * 3. The instance key stays out unless it is asked for.
 * 4. What belongs to processes of this machine stays out: a copy that is served must not take the
 *    original's for its own. So do the tools, which are made anew, and links that are good for an
 *    hour.
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
  realpath,
  rename,
  rm,
  stat,
  symlink,
  utimes,
} from 'node:fs/promises';
import { basename, dirname, join, relative, resolve } from 'node:path';
import { open } from 'lmdb';
import { storeFolder } from './environment.ts';
import { StoreRefusal } from './refusal.ts';
import { instanceKeyFile } from './secrets.ts';

export interface SnapshotOptions {
  /** Copy the instance key too; whoever has both can read every secret. */
  withKey: boolean;
}

interface BackupSource {
  backup(path: string, compact: boolean): Promise<void>;
}

/**
 * Copies `dir` into the new folder `target`. `root` is the open environment; without it, another
 * process may have the store open, and its file is read beside it.
 */
export async function copyDataDirectory(
  dir: string,
  target: string,
  options: SnapshotOptions,
  root?: BackupSource,
): Promise<void> {
  const from = resolve(dir);
  const to = resolve(target);
  await refuseTarget(from, to);
  const skip = new Set(
    ['runner', 'run', 'docker', 'swarm', 'resets', join('apps', 'toolchain')].map((name) =>
      join(from, name),
    ),
  );
  skip.add(storeFolder(from));
  if (!options.withKey) skip.add(join(from, instanceKeyFile));
  await fillWhole(to, async (partial) => {
    await copyFiles(from, partial, skip);
    await copyStore(from, partial, root);
    await copyFiles(from, partial, skip);
  });
}

/** Puts a copy in the place of an empty or missing data directory. */
export async function restoreDataDirectory(copy: string, dir: string): Promise<void> {
  const from = resolve(copy);
  const to = resolve(dir);
  await stat(join(storeFolder(from), 'data.mdb')).catch((error: unknown) => {
    throw isGone(error) ? new StoreRefusal(`There is no snapshot at ${from}.`) : error;
  });
  await refuseTarget(from, to);
  await fillWhole(to, (partial) => copyTree(from, partial, new Set()));
}

/** Makes the folder `to` by filling another one and renaming it (invariant 2). */
async function fillWhole(to: string, fill: (partial: string) => Promise<void>): Promise<void> {
  const partial = join(dirname(to), `.${basename(to)}.partial-${String(process.pid)}`);
  await rm(partial, { recursive: true, force: true });
  try {
    await mkdir(partial, { recursive: true, mode: 0o700 });
    await fill(partial);
    await chmod(partial, 0o700);
    await syncFolder(partial);
    await rename(partial, to);
    await syncFolder(dirname(to));
  } catch (error) {
    await rm(partial, { recursive: true, force: true });
    throw error;
  }
}

async function refuseTarget(from: string, to: string): Promise<void> {
  const inside = relative(from, to);
  if (inside === '' || !inside.startsWith('..')) {
    throw new StoreRefusal(`Cannot copy to ${to}: it lies in ${from}.`);
  }
  const present = await readdir(to).catch((error: unknown) => {
    if (isGone(error)) return [];
    throw error;
  });
  if (present.length > 0) throw new StoreRefusal(`Cannot copy to ${to}: it is not empty.`);
}

/** Copies the files of a data directory; app files may lie elsewhere, behind a link. */
async function copyFiles(from: string, to: string, skip: ReadonlySet<string>): Promise<void> {
  const apps = join(from, 'apps');
  const link = await lstat(apps).catch(ignoreGone);
  if (link?.isSymbolicLink() !== true) {
    await copyTree(from, to, skip);
    return;
  }
  await copyTree(from, to, new Set([...skip, apps]));
  const elsewhere = await realpath(apps);
  const target = join(to, 'apps');
  await mkdir(target, { recursive: true, mode: 0o711 });
  await copyTree(elsewhere, target, new Set([join(elsewhere, 'toolchain')]));
}

async function copyStore(from: string, to: string, root?: BackupSource): Promise<void> {
  const folder = storeFolder(to);
  await mkdir(folder, { recursive: true, mode: 0o700 });
  if (root !== undefined) {
    await root.backup(folder, true);
  } else {
    const path = storeFolder(from);
    await stat(join(path, 'data.mdb'));
    const beside = open({ path, readOnly: true, maxReaders: 1024 });
    try {
      await beside.backup(folder, true);
    } finally {
      await beside.close();
    }
  }
  await syncFile(join(folder, 'data.mdb'));
}

/** Copies what is missing or differs; what vanishes meanwhile was not part of the state. */
async function copyTree(from: string, to: string, skip: ReadonlySet<string>): Promise<void> {
  const names = await readdir(from).catch(ignoreGone);
  for (const name of names ?? []) {
    const source = join(from, name);
    if (skip.has(source)) continue;
    const found = await lstat(source).catch(ignoreGone);
    if (found === undefined) continue;
    const target = join(to, name);
    if (found.isDirectory()) {
      await mkdir(target, { recursive: true, mode: 0o700 });
      await copyTree(source, target, skip);
      await chmod(target, found.mode & 0o7777);
    } else if (found.isSymbolicLink()) {
      await copyLink(source, target);
    } else if (found.isFile()) {
      await copyChanged(source, target);
    } else {
      continue; // Sockets and pipes belong to running processes.
    }
    if (process.getuid?.() === 0) await lchown(target, found.uid, found.gid);
  }
  await syncFolder(to);
}

async function copyLink(source: string, target: string): Promise<void> {
  const to = await readlink(source).catch(ignoreGone);
  if (to === undefined) return;
  await rm(target, { force: true });
  await symlink(to, target);
}

async function copyChanged(source: string, target: string): Promise<void> {
  const [now, copied] = await Promise.all([
    lstat(source).catch(ignoreGone),
    lstat(target).catch(ignoreGone),
  ]);
  if (now === undefined) return;
  if (copied?.size === now.size && Math.abs(copied.mtimeMs - now.mtimeMs) < 1) return;
  try {
    // A clone where the file system can; apart from that a plain copy.
    await copyFile(source, target, constants.COPYFILE_FICLONE);
  } catch (error) {
    if (isGone(error)) return;
    throw error;
  }
  await chmod(target, now.mode & 0o7777);
  await syncFile(target);
  await utimes(target, now.atime, now.mtime);
}

async function syncFile(path: string): Promise<void> {
  const file = await openFile(path, 'r');
  try {
    await file.sync();
  } finally {
    await file.close();
  }
}

const syncFolder = syncFile;

function isGone(error: unknown): boolean {
  return (error as { code?: unknown }).code === 'ENOENT';
}

function ignoreGone(error: unknown): undefined {
  if (!isGone(error)) throw error;
}
