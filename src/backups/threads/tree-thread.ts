/**
 * Owns what is done to trees in threads, which make their calls themselves: nobody waits for the disk or for many
 * small files.
 */
import { lstat } from 'node:fs/promises';
import { BackupThread, chunksOf } from './backup-thread.ts';
import type { BackupTask, MissedEntries, ReadTree } from './messages.ts';

const never = new AbortController().signal;

/** Returns how many entries cannot be kept. */
export async function* treeInThread(
  tree: ReadTree,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array, MissedEntries> {
  return (yield* chunksOf({ kind: 'tree', tree }, signal)) as MissedEntries;
}

/** See `handOverTree`. */
export function handOverInThread(path: string, uid: number): Promise<void> {
  return toItsEnd({ kind: 'handOver', path, uid });
}

/** See `removeTree`. */
export async function removeInThread(path: string): Promise<void> {
  // Mostly there is none, which needs no thread.
  if (await isThere(path)) await toItsEnd({ kind: 'remove', path });
}

async function toItsEnd(task: BackupTask): Promise<void> {
  await new BackupThread(task, never, () => undefined).outcome;
}

function isThere(path: string): Promise<boolean> {
  return lstat(path).then(
    () => true,
    () => false,
  );
}
