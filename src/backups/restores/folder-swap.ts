/**
 * Owns putting folders in the place of those that programs use, with the old ones kept until the programs are
 * well with the new ones.
 *
 * 1. All names of a folder lie in a folder of ours. At any moment the old one has its own name or that of the
 *    outgoing one: `recoverSwap` puts it back behind a crash.
 * 2. The programs are ended for the exchange alone; the new folders are whole before.
 */
import { chmod, mkdir, rename, stat } from 'node:fs/promises';
import { join } from 'node:path';

import { handOverTree, removeTree } from '../../lib/untrusted-files/remove.ts';
import type { OwnFolder, ServerControl } from '../targets.ts';
import { notPutBack, putBack, untouched } from './failures.ts';

export interface Swap {
  places: readonly OwnFolder[];
  control: ServerControl;
  log: (line: string) => void;
}

const liveOf = ({ root, data }: OwnFolder): string => join(root, data);
const incomingOf = (place: OwnFolder): string => `${liveOf(place)}-incoming`;
const outgoingOf = (place: OwnFolder): string => `${liveOf(place)}-outgoing`;

/**
 * `fill` is given the paths of empty folders of ours, in the order of `places`. Rejects with a ServiceError
 * that says what is there now.
 */
export async function swapFolders(
  { places, control, log }: Swap,
  fill: (paths: readonly string[]) => Promise<void>,
): Promise<void> {
  try {
    for (const place of places) {
      await removeTree(incomingOf(place));
      await mkdir(incomingOf(place), { mode: 0o700 });
    }
    await fill(places.map(incomingOf));
    for (const place of places) {
      await chmod(incomingOf(place), 0o700);
      if (place.uid !== null) await handOverTree(incomingOf(place), place.uid);
    }
  } catch (error) {
    await removeAll(places.map(incomingOf)).catch(() => undefined);
    throw untouched(error);
  }
  log('It takes the place of the live one, for which that is stopped.');
  try {
    await control.stop();
    for (const place of places) await exchange(place);
    await control.start();
  } catch (error) {
    log('It is not well with the new data. The previous data is put back.');
    await bringBack(places, control, error);
    throw putBack(error);
  }
  await removeAll(places.map(outgoingOf)).catch(() =>
    log('The previous data could not be removed yet.'),
  );
}

async function exchange(place: OwnFolder): Promise<void> {
  await removeTree(outgoingOf(place));
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
    for (const place of places) {
      if (!(await isThere(outgoingOf(place)))) continue;
      await removeTree(liveOf(place));
      await recoverSwap(place);
    }
    await removeAll(places.map(incomingOf));
    await control.start();
  } catch (error) {
    throw notPutBack(cause, `it does not start with it either (${String(error)})`);
  }
}

/**
 * To be called before the program is started: behind a crash within an exchange the old folder comes back. Tells
 * which of both is live then; null: nothing is left that tells.
 */
export async function recoverSwap(place: OwnFolder): Promise<'previous' | 'restored' | null> {
  const [hasLive, hasOutgoing] = [await isThere(liveOf(place)), await isThere(outgoingOf(place))];
  const hasIncoming = await isThere(incomingOf(place));
  if (!hasLive && hasOutgoing) {
    await rename(outgoingOf(place), liveOf(place));
    return 'previous';
  }
  if (hasOutgoing && !hasIncoming) return 'restored';
  return hasIncoming ? 'previous' : null;
}

async function removeAll(paths: readonly string[]): Promise<void> {
  for (const path of paths) await removeTree(path);
}

function isThere(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  );
}
