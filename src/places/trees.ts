/**
 * Owns the trees of an app or a database on this machine: taking one out, as tar, and putting one into the place of
 * another.
 *
 * 1. What is taken is whole, with its modes, times and links: what no tar can hold is refused, but for pipes and sockets,
 *    which belong to what ran.
 * 2. Some of the disk stays free, whoever sends how much: STORAGE_FULL.
 * 3. A tree is unpacked beside the one in whose place it comes, and is on stable storage before it does.
 */
import { mkdir, rename } from 'node:fs/promises';
import { join } from 'node:path';
import { syncFolder, writeOut } from '../backups/restores/durable.ts';
import {
  exchange,
  incomingAt,
  incomingOf,
  isSwapped,
  makeIncoming,
  recoverSwap,
} from '../backups/restores/folder-swap.ts';
import { leftOut } from '../backups/sources/postgres-files.ts';
import { tarEnd } from '../backups/tar/tar-header.ts';
import type { MissedEntries } from '../backups/threads/messages.ts';
import type { OwnFolder } from '../backups/targets.ts';
import { fillInThread, removeInThread, treeInThread } from '../backups/threads/tree-thread.ts';
import { roomAt } from '../lib/kept-free.ts';
import { ServiceError } from '../lib/errors.ts';
import { KeyedQueue } from '../lib/keyed-queue.ts';
import { dataTree } from './owned-folders.ts';
import type { OwnTrees, TreeName } from './place.ts';

export interface TreesOptions {
  uid: number | null;
  /** Makes all folders of the owner. */
  ensure: () => Promise<void>;
  /** The folder of ours in which a tree is. */
  rootOf: (tree: TreeName) => string;
}

/** An earlier change may not have ended when whoever asked for it has given it up. */
const changes = new KeyedQueue();

export class LocalTrees implements OwnTrees {
  readonly #options: TreesOptions;

  constructor(options: TreesOptions) {
    this.#options = options;
  }

  pack(tree: TreeName, signal: AbortSignal): AsyncGenerator<Uint8Array, MissedEntries> {
    return packTree(this.#folderOf(tree), signal);
  }

  archive(
    tree: TreeName,
    prefix: string,
    signal: AbortSignal,
    of?: 'POSTGRES',
  ): AsyncGenerator<Uint8Array, MissedEntries> {
    const { root, data: name } = this.#folderOf(tree);
    const leaves = of === 'POSTGRES' && { leaves: leftOut };
    return treeInThread({ root, name, prefix, ...leaves }, signal);
  }

  async fill(tree: TreeName, tar: AsyncIterable<Uint8Array>, signal: AbortSignal): Promise<void> {
    const folder = this.#folderOf(tree);
    await this.#change(async () => {
      await this.#options.ensure();
      await fillTree(folder, inRoom(tar, roomAt(folder.root)), signal);
    });
  }

  async fillBeside(tar: AsyncIterable<Uint8Array>, signal: AbortSignal): Promise<void> {
    const folder = this.#folderOf(dataTree);
    await this.#change(async () => {
      await this.#options.ensure();
      await makeIncoming(folder, inRoom(tar, roomAt(folder.root)), signal);
    });
  }

  exchange(): Promise<void> {
    const folder = this.#folderOf(dataTree);
    return this.#change(async () => {
      // It may have been tried out.
      await writeOut([incomingOf(folder)]);
      await exchange([folder]);
    });
  }

  hasPrevious(): Promise<boolean> {
    return this.#change(() => isSwapped(this.#folderOf(dataTree)));
  }

  settle(data: 'live' | 'previous'): Promise<void> {
    return this.#change(() => recoverSwap(this.#folderOf(dataTree), data === 'live'));
  }

  #change<T>(work: () => Promise<T>): Promise<T> {
    return changes.take(this.#folderOf(dataTree).root, work);
  }

  #folderOf(tree: TreeName): OwnFolder {
    const { uid, rootOf } = this.#options;
    return { root: rootOf(tree), data: tree, uid };
  }
}

/** CONFLICT for what cannot be kept. Nothing may change it meanwhile. */
async function* packTree(
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
async function fillTree(
  { root, data: name, uid }: OwnFolder,
  tar: AsyncIterable<Uint8Array>,
  signal: AbortSignal,
): Promise<void> {
  const live = join(root, name);
  const incoming = incomingAt(live);
  await removeInThread(incoming);
  await mkdir(incoming, { mode: 0o700 });
  try {
    await fillInThread({ path: incoming, uid }, tar, signal);
    await writeOut([incoming]);
    await removeInThread(live);
    await rename(incoming, live);
    await syncFolder(root);
  } catch (error) {
    await removeInThread(incoming).catch(() => undefined);
    throw error;
  }
}

/** Throws STORAGE_FULL. */
export async function* inRoom(
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
