/**
 * Owns putting folders in the place of those that programs use, with the old ones kept until the programs are
 * well with the new ones.
 *
 * 1. All names of a folder lie in a folder of ours. At any moment the old one is whole under its own name or
 *    that of the outgoing one, until `control.replaced` has resolved.
 * 2. Behind a crash before that, `recoverSwap` puts the old ones back; behind a later one it removes them.
 * 3. The programs are ended for the exchange alone; the new folders are whole before, and on stable storage.
 * 4. The old ones are removed only when the names of the new ones are on stable storage, too.
 */
import { chmod, mkdir, rename, stat } from 'node:fs/promises';
import { join } from 'node:path';

import type { ArchiveEntry } from '../../archives/formats/entry.ts';
import type { OwnFolder } from '../targets.ts';
import { handOverInThread, removeInThread } from '../threads/tree-thread.ts';
import { syncFolder, writeOut } from './durable.ts';
import { unfit } from './failures.ts';
import { swap, type Swapping } from './swap.ts';
import { unpackTar } from './tar-reading.ts';

const liveOf = ({ root, data }: OwnFolder): string => join(root, data);
/** Of a folder, by its whole path. */
export const incomingAt = (live: string): string => `${live}-incoming`;
export const incomingOf = (place: OwnFolder): string => incomingAt(liveOf(place));
const outgoingOf = (place: OwnFolder): string => `${liveOf(place)}-outgoing`;
/** An outgoing one that is not needed any more, whole or in part. */
const leavingOf = (place: OwnFolder): string => `${liveOf(place)}-leaving`;
const unpackingOf = (place: OwnFolder): string => `${liveOf(place)}-unpacking`;

/**
 * `fill` is given the paths of empty folders of ours, in the order of `places`; `settle` the same, when they
 * belong to the programs. Rejects with a ServiceError that says what is there now.
 */
export async function swapFolders(
  { places, control, log }: Swapping & { places: readonly OwnFolder[] },
  fill: (paths: readonly string[]) => Promise<void>,
  settle: (paths: readonly string[]) => Promise<void> = () => Promise.resolve(),
): Promise<void> {
  const each = async (work: (place: OwnFolder) => Promise<void>): Promise<void> => {
    for (const place of places) await work(place);
  };
  const incoming = places.map(incomingOf);
  await swap(
    { control, log },
    {
      make: async () => {
        await each(makeRoom);
        await each((place) => mkdir(incomingOf(place), { mode: 0o700 }).then(() => undefined));
        await fill(incoming);
        await each(giveIncoming);
        await settle(incoming);
        await writeOut(incoming);
      },
      exchange: () => exchange(places),
      bringBack: () => each((place) => recoverSwap(place, false)),
      settle: () => each(removeOutgoing),
      drop: () => each((place) => removeInThread(incomingOf(place))),
    },
  );
}

/**
 * Makes an incoming folder of the tar of any archive, in which all is below the folder's own name; whole, and on stable
 * storage. There is none where nothing is in the tar. What came before is removed. Throws ARCHIVE_* and ARTIFACT_UNFIT.
 */
export async function makeIncoming(
  place: OwnFolder,
  tar: AsyncIterable<Uint8Array>,
  signal: AbortSignal,
): Promise<void> {
  await makeRoom(place);
  const unpacking = unpackingOf(place);
  await mkdir(unpacking, { mode: 0o700 });
  try {
    await unpackTar(tar, {
      ...{ path: unpacking, signal, mayBeEmpty: true },
      check: (entry) => isBelow(place.data, entry),
    });
    const made = join(unpacking, place.data);
    if (!(await isThere(made))) return;
    await rename(made, incomingOf(place));
    await giveIncoming(place);
    await writeOut([incomingOf(place)]);
  } finally {
    await removeInThread(unpacking);
  }
}

function isBelow(name: string, { path, kind }: ArchiveEntry): boolean {
  if (path === name ? kind === 'directory' : path.startsWith(`${name}/`)) return true;
  throw unfit(`The artifact holds what is no part of it: ${JSON.stringify(path)}.`);
}

async function makeRoom(place: OwnFolder): Promise<void> {
  await removeOutgoing(place);
  await removeInThread(unpackingOf(place));
  await removeInThread(incomingOf(place));
}

async function giveIncoming(place: OwnFolder): Promise<void> {
  await chmod(incomingOf(place), 0o700);
  if (place.uid !== null) await handOverInThread(incomingOf(place), place.uid);
}

/** Resolves when the names are on stable storage, too. */
export async function exchange(places: readonly OwnFolder[]): Promise<void> {
  for (const place of places) {
    await rename(liveOf(place), outgoingOf(place));
    await rename(incomingOf(place), liveOf(place));
  }
  for (const { root } of places) await syncFolder(root);
}

/**
 * To be called before a program is started: behind a crash within an exchange the old folder comes back. The
 * new one stays where it took its place.
 */
export async function ensureLive(place: OwnFolder): Promise<void> {
  const isMissing = !(await isThere(liveOf(place)));
  if (isMissing && (await isThere(outgoingOf(place)))) {
    await rename(outgoingOf(place), liveOf(place));
  }
}

/** Whether `recoverSwap` takes a folder out of its place, for which its program has to be ended. */
export function isSwapped(place: OwnFolder): Promise<boolean> {
  return isThere(outgoingOf(place));
}

/** Ends an exchange that a crash cut off. `isReplaced`: the new folder stays; else the old one comes back. */
export async function recoverSwap(place: OwnFolder, isReplaced: boolean): Promise<void> {
  if (!isReplaced && (await isThere(outgoingOf(place)))) {
    await removeInThread(liveOf(place));
    await rename(outgoingOf(place), liveOf(place));
  }
  await ensureLive(place);
  await makeRoom(place);
}

/** A part of an old folder must not look like all of it. */
async function removeOutgoing(place: OwnFolder): Promise<void> {
  await removeInThread(leavingOf(place));
  if (await isThere(outgoingOf(place))) await rename(outgoingOf(place), leavingOf(place));
  await removeInThread(leavingOf(place));
}

function isThere(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  );
}
