/**
 * Owns taking a tree of an app or a database out of this machine, and putting it into the place of another, as tar.
 *
 * 1. What is taken is whole, with its modes, times and links: what no tar can hold is refused, but for pipes and sockets,
 *    which belong to what ran.
 * 2. Some of the disk stays free, whoever sends how much: STORAGE_FULL.
 * 3. A tree is unpacked beside the one in whose place it comes, and is on stable storage before it does.
 */
import { mkdir, rename } from 'node:fs/promises';
import { join } from 'node:path';
import { syncFolder, writeOut } from '../backups/restores/durable.ts';
import { tarEnd } from '../backups/tar/tar-header.ts';
import type { MissedEntries } from '../backups/threads/messages.ts';
import type { OwnFolder } from '../backups/targets.ts';
import { fillInThread, removeInThread, treeInThread } from '../backups/threads/tree-thread.ts';
import { roomAt } from '../backups/kept-free.ts';
import { ServiceError } from '../lib/errors.ts';

/** CONFLICT for what cannot be kept. Nothing may change it meanwhile. */
export async function* packTree(
  { root, data: name }: OwnFolder,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array, MissedEntries> {
  const missed = yield* treeInThread({ root, name, prefix: '', faithful: true }, signal);
  const lost = Object.entries(missed).filter(([why, count]) => why !== 'special' && count > 0);
  if (lost.length > 0) {
    const told = lost.map(([why, count]) => `${String(count)} by "${why}"`).join(', ');
    throw new ServiceError('CONFLICT', `It has files that no archive can hold: ${told}.`);
  }
  yield tarEnd;
  return missed;
}

/** Throws ARCHIVE_* for what is no whole and harmless tar. The tree that was there stays until then. */
export async function fillTree(
  { root, data: name, uid }: OwnFolder,
  tar: AsyncIterable<Uint8Array>,
  signal: AbortSignal,
  roomBytes: number = roomAt(root),
): Promise<void> {
  const live = join(root, name);
  const incoming = `${live}-incoming`;
  await removeInThread(incoming);
  await mkdir(incoming, { mode: 0o700 });
  try {
    await fillInThread({ path: incoming, uid }, inRoom(tar, roomBytes), signal);
    await writeOut([incoming]);
    await removeInThread(live);
    await rename(incoming, live);
    await syncFolder(root);
  } catch (error) {
    await removeInThread(incoming).catch(() => undefined);
    throw error;
  }
}

async function* inRoom(
  tar: AsyncIterable<Uint8Array>,
  roomBytes: number,
): AsyncGenerator<Uint8Array> {
  let bytes = 0;
  for await (const piece of tar) {
    bytes += piece.length;
    if (bytes > roomBytes) {
      throw new ServiceError('STORAGE_FULL', 'The disk of that server has no room for its files.');
    }
    yield piece;
  }
}
