/**
 * Owns who may enter the folders of a sandbox: the upper ones are ours, those inside belong to its uid. So a
 * program in it can replace none of the folders above its own.
 */
import { chmod, chown, lstat, mkdir } from 'node:fs/promises';

/** Ours, 0710, with the group of `uid`, which may walk through. Null: no uid of its own. */
export async function makeOurs(folder: string, uid: number | null): Promise<void> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  if (uid !== null) await chown(folder, process.getuid?.() ?? 0, uid);
  await chmod(folder, 0o710);
}

/** 0700, belonging to `uid`. */
export async function makeTheirs(folder: string, uid: number | null): Promise<void> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const { uid: owner } = await lstat(folder);
  if (owner !== (uid ?? owner)) await handOver(folder, uid);
}

/** Hands over the folder, not its content. */
export async function handOver(folder: string, uid: number | null): Promise<void> {
  await chmod(folder, 0o700);
  if (uid !== null) await chown(folder, uid, uid);
}
