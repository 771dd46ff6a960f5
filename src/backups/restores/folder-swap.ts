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

import type { OwnFolder, ServerControl } from '../targets.ts';
import { handOverInThread, removeInThread } from '../threads/tree-thread.ts';
import { syncFolder, writeOut } from './durable.ts';
import { notPutBack, putBack, untouched } from './failures.ts';

export interface Swap {
  places: readonly OwnFolder[];
  control: ServerControl;
  log: (line: string) => void;
}

const liveOf = ({ root, data }: OwnFolder): string => join(root, data);
const incomingOf = (place: OwnFolder): string => `${liveOf(place)}-incoming`;
const outgoingOf = (place: OwnFolder): string => `${liveOf(place)}-outgoing`;
/** An outgoing one that is not needed any more, whole or in part. */
const leavingOf = (place: OwnFolder): string => `${liveOf(place)}-leaving`;

/**
 * `fill` is given the paths of empty folders of ours, in the order of `places`; `settle` the same, when they
 * belong to the programs. Rejects with a ServiceError that says what is there now.
 */
export async function swapFolders(
  { places, control, log }: Swap,
  fill: (paths: readonly string[]) => Promise<void>,
  settle: (paths: readonly string[]) => Promise<void> = () => Promise.resolve(),
): Promise<void> {
  try {
    for (const place of places) {
      await removeOutgoing(place);
      await removeInThread(incomingOf(place));
      await mkdir(incomingOf(place), { mode: 0o700 });
    }
    await fill(places.map(incomingOf));
    for (const place of places) {
      await chmod(incomingOf(place), 0o700);
      if (place.uid !== null) await handOverInThread(incomingOf(place), place.uid);
    }
    await settle(places.map(incomingOf));
    await writeOut(places.map(incomingOf));
  } catch (error) {
    await removeAll(places.map(incomingOf)).catch(() => undefined);
    throw untouched(error);
  }
  log('It takes the place of the live one, for which that is stopped.');
  try {
    await control.stop();
    for (const place of places) await exchange(place);
    for (const { root } of places) await syncFolder(root);
    await control.start();
    await control.replaced();
  } catch (error) {
    log('It is not well with the new data. The previous data is put back.');
    await bringBack(places, control, error);
    throw putBack(error);
  }
  for (const place of places) {
    await removeOutgoing(place).catch(() => log('The previous data could not be removed yet.'));
  }
}

async function exchange(place: OwnFolder): Promise<void> {
  await rename(liveOf(place), outgoingOf(place));
  await rename(incomingOf(place), liveOf(place));
}

async function bringBack(
  places: readonly OwnFolder[],
  control: ServerControl,
  cause: unknown,
): Promise<void> {
  try {
    await control.stop();
    for (const place of places) await recoverSwap(place, false);
    await control.start();
  } catch (error) {
    throw notPutBack(cause, `it does not start with it either (${String(error)})`);
  }
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
  await removeOutgoing(place);
  await removeInThread(incomingOf(place));
}

/** A part of an old folder must not look like all of it. */
async function removeOutgoing(place: OwnFolder): Promise<void> {
  await removeInThread(leavingOf(place));
  if (await isThere(outgoingOf(place))) await rename(outgoingOf(place), leavingOf(place));
  await removeInThread(leavingOf(place));
}

async function removeAll(paths: readonly string[]): Promise<void> {
  for (const path of paths) await removeInThread(path);
}

function isThere(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  );
}
