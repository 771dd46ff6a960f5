/**
 * Owns how a folder comes to be whole or not at all: another one beside it is filled, and takes its name.
 *
 * 1. The folder is complete and synced when it has its name.
 * 2. What a process left that died meanwhile goes with the next one that makes the same folder.
 */
import { mkdir, open, readdir, rename } from 'node:fs/promises';
import { basename, dirname, join, relative } from 'node:path';
import { removeTree } from '../../lib/untrusted-files/remove.ts';
import { StoreRefusal } from '../refusal.ts';
import { isStoreInUse } from './store-file.ts';

/** Makes the folder `to`, which is missing or empty. `fill` is given the path of the other one. */
export async function fillWhole(
  to: string,
  fill: (partial: string) => Promise<void>,
): Promise<void> {
  const above = dirname(to);
  const prefix = `.${basename(to)}.partial-`;
  await mkdir(above, { recursive: true, mode: 0o700 });
  await removeLeft(above, prefix);
  const partial = join(above, `${prefix}${String(process.pid)}`);
  await removeTree(partial);
  // It must be new: where others may write, too, somebody else may have made one of this name.
  await mkdir(partial, { mode: 0o700 });
  try {
    await fill(partial);
    await syncFile(partial);
    await rename(partial, to);
    await syncFile(above);
  } catch (error) {
    await removeTree(partial);
    throw error;
  }
}

async function removeLeft(above: string, prefix: string): Promise<void> {
  // One that may be written to and not be read is somebody's choice.
  const names = await readdir(above).catch(() => []);
  for (const name of names) {
    if (!name.startsWith(prefix)) continue;
    const pid = Number(name.slice(prefix.length));
    if (Number.isSafeInteger(pid) && pid > 0 && !isAlive(pid)) await removeTree(join(above, name));
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as { code?: unknown }).code !== 'ESRCH';
  }
}

/** A file, or the names in a folder. */
export async function syncFile(path: string): Promise<void> {
  const file = await open(path, 'r');
  try {
    await file.sync();
  } finally {
    await file.close();
  }
}

export function refuseInside(from: string, to: string): void {
  const inside = relative(from, to);
  if (inside !== '' && inside.startsWith('..')) return;
  throw new StoreRefusal(`Cannot copy to ${to}: it lies in ${from}.`);
}

export async function refuseUnlessEmpty(to: string): Promise<void> {
  const present = await readdir(to).catch((error: unknown) => {
    if ((error as { code?: unknown }).code === 'ENOENT') return [];
    throw error;
  });
  if (present.length === 0) return;
  const used = isStoreInUse(to) ? ', and in use by a Gangway that runs' : '';
  throw new StoreRefusal(`Cannot copy to ${to}: it is not empty${used}.`);
}
