/**
 * Owns where app files lie, and the rights on the way there.
 *
 * 1. When Gangway runs as root, each app has a uid of its own, which can reach its own folders and read
 *    nothing else. The folders on the way are 0711, and all other parts of the data directory are for
 *    root alone.
 * 2. Where an app's uid could not reach the data directory (a clone below /root), app files lie below
 *    /var/lib/gangway, and `<data dir>/apps` is a link to them.
 * 3. An app's own files say what it is. Node looks for a `package.json` upwards, and finds an empty one
 *    here before that of a folder above, such as a clone's.
 */
import { createHash } from 'node:crypto';
import fs from 'node:fs/promises';
import path from 'node:path';

import type { Logger } from '../../lib/log.ts';
import { mayGiveUids } from '../../lib/processes/program-uids.ts';

export interface AppsRootOptions {
  /** Absolute; made when it is not there. */
  dataDir: string;
  logger: Logger;
  /** For tests. */
  isRoot?: boolean;
  /** Where app files go when the data directory is out of reach; default /var/lib/gangway. */
  fallbackDir?: string;
}

export interface AppsRoot {
  /** Absolute, without links. */
  appsRoot: string;
  /** Whether apps can be given a uid of their own. */
  perAppUid: boolean;
}

const walkOnly = 0o711;

export async function prepareAppsRoot(options: AppsRootOptions): Promise<AppsRoot> {
  await fs.mkdir(options.dataDir, { recursive: true, mode: walkOnly });
  const dataDir = await fs.realpath(options.dataDir);
  const link = path.join(dataDir, 'apps');
  const perAppUid = options.isRoot ?? mayGiveUids();
  if (!perAppUid) {
    await fs.mkdir(link, { recursive: true, mode: 0o700 });
    return { appsRoot: await bounded(await fs.realpath(link)), perAppUid };
  }
  await closeParts(dataDir);
  await fs.chmod(dataDir, walkOnly);
  if (await isWalkable(path.dirname(dataDir))) {
    await fs.mkdir(link, { recursive: true, mode: walkOnly });
  } else {
    await linkElsewhere(dataDir, link, options);
  }
  const appsRoot = await bounded(await fs.realpath(link));
  await fs.chmod(appsRoot, walkOnly);
  return { appsRoot, perAppUid };
}

async function bounded(appsRoot: string): Promise<string> {
  const file = path.join(appsRoot, 'package.json');
  await fs.writeFile(file, '{}\n');
  // Every app reads it, whatever the umask.
  await fs.chmod(file, 0o644);
  return appsRoot;
}

/** Closes to other users what an earlier start, or a copy by hand, may have left open. */
async function closeParts(dataDir: string): Promise<void> {
  for (const entry of await fs.readdir(dataDir, { withFileTypes: true })) {
    if (entry.name === 'apps' || entry.isSymbolicLink()) continue;
    const part = path.join(dataDir, entry.name);
    const { mode } = await fs.stat(part);
    if ((mode & 0o077) !== 0) await fs.chmod(part, mode & 0o700);
  }
}

/** Whether anyone may walk through this folder and all above it. */
async function isWalkable(dir: string): Promise<boolean> {
  for (let at = dir; ; at = path.dirname(at)) {
    const { mode } = await fs.stat(at);
    if ((mode & 0o001) === 0) return false;
    if (at === path.dirname(at)) return true;
  }
}

async function linkElsewhere(
  dataDir: string,
  link: string,
  options: AppsRootOptions,
): Promise<void> {
  const fallbackDir = options.fallbackDir ?? '/var/lib/gangway';
  // By inode, too: a copy at the same path is another data directory.
  const { ino } = await fs.stat(dataDir);
  const hash = createHash('sha256')
    .update(`${dataDir}\0${String(ino)}`)
    .digest('hex');
  const target = path.join(fallbackDir, hash.slice(0, 16));
  await fs.mkdir(target, { recursive: true, mode: walkOnly });
  // The `mode` above is cut by the umask, and does not change existing folders.
  for (const dir of [fallbackDir, target]) await fs.chmod(dir, walkOnly);
  const known = await fs.lstat(link).catch(() => undefined);
  if (known?.isSymbolicLink() && (await fs.readlink(link)) === target) return;
  if (known?.isDirectory()) {
    // The data directory was within reach before; its apps are moved.
    await fs.rmdir(target);
    await moveTree(link, target);
  } else if (known) {
    const others = await fs.readlink(link);
    options.logger.warn({ dataDir, found: others, using: target }, 'apps_of_another_data_dir');
    await fs.rm(link);
  }
  await fs.symlink(target, link);
  options.logger.info({ dataDir, appsRoot: target }, 'apps_root_outside_data_dir');
}

async function moveTree(from: string, to: string): Promise<void> {
  try {
    await fs.rename(from, to);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EXDEV') throw error;
    throw new Error(
      `Cannot keep app files at ${from}: apps under their own uid cannot get there. Move them to ${to} with "mv", and start again.`,
      { cause: error },
    );
  }
}
