/**
 * Owns what is done to trees in threads, which make their calls themselves: nobody waits for the disk or for many
 * small files.
 */
import { lstat } from 'node:fs/promises';
import { BackupThread, chunksOf, endOf, News } from './backup-thread.ts';
import type { BackupTask, MissedEntries, ReadTree } from './messages.ts';

const never = new AbortController().signal;
const aheadMax = 1024 * 1024;

/** Returns how many entries cannot be kept. */
export async function* treeInThread(
  tree: ReadTree,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array, MissedEntries> {
  return (yield* chunksOf({ kind: 'tree', tree }, signal)) as MissedEntries;
}

/** Makes what a faithful tar holds in an empty folder of ours, and gives all to `uid`. Rejects with ARTIFACT_CORRUPT and ARCHIVE_UNSAFE_ENTRY. */
export async function fillInThread(
  { path, uid }: { path: string; uid: number | null },
  tar: AsyncIterable<Uint8Array>,
  signal: AbortSignal,
): Promise<void> {
  const left = new AbortController();
  const news = new News();
  let aheadBytes = 0;
  const either = AbortSignal.any([signal, left.signal]);
  const thread = new BackupThread({ kind: 'fill', path, uid }, either, (reply) => {
    if (reply.type === 'read') aheadBytes -= reply.bytes;
    news.tell();
  });
  const end = endOf(thread, news);
  try {
    for await (const bytes of tar) {
      // A part of a buffer would be sent with the whole of it.
      thread.post({ type: 'bytes', bytes: new Uint8Array(bytes) });
      aheadBytes += bytes.length;
      while (aheadBytes >= aheadMax && !end.isThere) await news.next();
      if (end.isThere) break;
    }
    thread.post({ type: 'bytes', bytes: null });
    await thread.outcome;
  } finally {
    left.abort(new Error('Nothing more is sent'));
    await end.reached;
  }
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
