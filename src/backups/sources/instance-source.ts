/**
 * Owns what is dumped of the instance itself: a tar of `instance.json`, and of a snapshot of the data directory
 * with its key. Whoever can read it can read every secret of every team: it is never kept unencrypted, which its
 * caller sees to.
 *
 * 1. The snapshot is made in a folder of its own, on the disk of the data directory, and removed when it has
 *    been read or that is given up. What a process left that died is removed by
 *    `leftSnapshots`.
 * 2. Some of that disk stays free.
 */
import { randomUUID } from 'node:crypto';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { ServiceError } from '../../lib/errors.ts';
import {
  artifactFile,
  type Copied,
  copyDataDirectory,
  type DatabaseFiles,
  type Progress,
} from '../../store/files/snapshot.ts';
import { roomAt } from '../../lib/kept-free.ts';
import { tarEnd } from '../tar/tar-header.ts';
import { type TarMissed, textEntry } from '../tar/tar-tree.ts';
import type { MissedEntries } from '../threads/messages.ts';
import { removeInThread, treeInThread } from '../threads/tree-thread.ts';
import type { Source } from './source.ts';

/** Holes become zeros: no app makes a backup of nothing but those. */
const holesMaxBytes = 64 * 2 ** 30;
/** The room is looked at again after so many files, and so many bytes. */
const lookEveryFiles = 256;
const lookEveryBytes = 16 * 2 ** 20;

export interface InstanceTarget {
  dataDir: string;
  /** Below the data directory; made when missing. */
  snapshots: string;
  databases: DatabaseFiles;
  /** Is told once what is not in the backup, when there is something. */
  missed: (left: LeftOut) => void;
}

export interface LeftOut {
  /** Folders of databases whose files were written to all the while. */
  unsettled: string[];
  /** How many files stay out, by the reason. */
  files: MissedEntries;
}

export function instanceSource(target: InstanceTarget): Source {
  return {
    kind: 'instance',
    ending: 'tar',
    read: (signal) => dump(target, signal),
  };
}

/** What an earlier process left. To be called before a source is read. */
export async function leftSnapshots(folder: string): Promise<() => Promise<void>> {
  const names = await readdir(folder).catch(() => []);
  return async () => {
    for (const name of names) await removeInThread(join(folder, name));
  };
}

async function* dump(target: InstanceTarget, signal: AbortSignal): AsyncGenerator<Uint8Array> {
  const name = randomUUID();
  const dir = join(target.snapshots, name);
  try {
    const copied = await snapshot(target, dir, signal);
    const left = leftOutOf(copied);
    yield* textEntry(artifactFile, `${JSON.stringify({ version: 1, madeAt: new Date() })}\n`);
    const { snapshots: root } = target;
    const tree = { root, name, prefix: '', faithful: true, holesMaxBytes };
    add(left, yield* treeInThread(tree, signal));
    yield tarEnd;
    if (left.unsettled.length > 0 || Object.keys(left.files).length > 0) target.missed(left);
  } finally {
    await removeInThread(dir);
  }
}

async function snapshot(
  { dataDir, databases }: InstanceTarget,
  dir: string,
  signal: AbortSignal,
): Promise<Copied> {
  signal.throwIfAborted();
  const mustHaveRoom = roomIn(dataDir);
  const onProgress = (progress: Progress): void => {
    signal.throwIfAborted();
    mustHaveRoom(progress);
  };
  try {
    return await copyDataDirectory(dataDir, dir, {
      ...{ withKey: true, passing: true, databases, onProgress },
    });
  } catch (error) {
    signal.throwIfAborted();
    throw failure(error);
  }
}

/** Throws STORAGE_FULL when what is still to be copied has no room. */
function roomIn(dir: string): (progress: Progress) => void {
  let next = { files: 0, bytes: 0 };
  return ({ files, bytes, totalBytes }) => {
    if (files < next.files && bytes < next.bytes) return;
    next = { files: files + lookEveryFiles, bytes: bytes + lookEveryBytes };
    if (roomAt(dir) < Math.max(0, totalBytes - bytes)) throw full();
  };
}

function failure(error: unknown): unknown {
  const { cause, code } = error as { cause?: unknown; code?: unknown };
  // What a step of the copy throws comes with the name of its file.
  if (cause instanceof ServiceError) return cause;
  if (error instanceof ServiceError) return error;
  if (code === 'ENOSPC' || code === 'EDQUOT') return full();
  return new ServiceError('DUMP_FAILED', 'The data directory could not be copied.', {
    cause: error,
  });
}

function full(): ServiceError {
  const detail =
    'The disk of the data directory has no room for a copy of it, which a backup needs.';
  return new ServiceError('STORAGE_FULL', detail);
}

function leftOutOf({ unsettled, missed }: Copied): LeftOut {
  const left: LeftOut = { unsettled, files: {} };
  add(left, Object.fromEntries(Array.from(missed, ([why, { count }]) => [why, count])));
  return left;
}

function add({ files }: LeftOut, more: MissedEntries): void {
  for (const [why, count] of Object.entries(more) as [TarMissed, number][]) {
    files[why] = (files[why] ?? 0) + count;
  }
}
