/**
 * Owns putting a folder in the place of one that a program uses, with the old one kept until the program is
 * well with the new one.
 *
 * 1. All three names lie in a folder of ours. At any moment the old folder has its own name or that of the
 *    outgoing one: `recoverSwap` puts it back behind a crash.
 * 2. The program is ended for the exchange alone; the new folder is whole before.
 */
import { mkdir, rename, stat } from 'node:fs/promises';
import { join } from 'node:path';

import { handOverTree, removeTree } from '../../lib/untrusted-files/remove.ts';
import type { DatabaseFolder, ServerControl } from '../targets.ts';
import { notPutBack, putBack, untouched } from './failures.ts';

export interface Swap {
  /** Ours, in which the folder is; and the folder's name. */
  place: DatabaseFolder;
  control: ServerControl;
  log: (line: string) => void;
}

const incomingOf = (name: string): string => `${name}-incoming`;
const outgoingOf = (name: string): string => `${name}-outgoing`;

/** `fill` is given the path of an empty folder of ours. Rejects with a ServiceError that says what is there now. */
export async function swapFolder(
  { place, control, log }: Swap,
  fill: (path: string) => Promise<void>,
): Promise<void> {
  const { root, data, uid } = place;
  const incoming = join(root, incomingOf(data));
  try {
    await removeTree(incoming);
    await mkdir(incoming, { mode: 0o700 });
    await fill(incoming);
    if (uid !== null) await handOverTree(incoming, uid);
  } catch (error) {
    await removeTree(incoming).catch(() => undefined);
    throw untouched(error);
  }
  log('It takes the place of the live one, for which that is stopped.');
  try {
    await control.stop();
    await removeTree(join(root, outgoingOf(data)));
    await rename(join(root, data), join(root, outgoingOf(data)));
    await rename(incoming, join(root, data));
    await control.start();
  } catch (error) {
    log('It is not well with the new data. The previous data is put back.');
    await bringBack(place, control, error);
    throw putBack(error);
  }
  await removeTree(join(root, outgoingOf(data))).catch(() =>
    log('The previous data could not be removed yet.'),
  );
}

async function bringBack(
  place: DatabaseFolder,
  control: ServerControl,
  cause: unknown,
): Promise<void> {
  const { root, data } = place;
  try {
    await control.stop();
    if (await isThere(join(root, outgoingOf(data)))) {
      await removeTree(join(root, data));
      await recoverSwap(place);
    }
    await removeTree(join(root, incomingOf(data)));
    await control.start();
  } catch (error) {
    throw notPutBack(cause, `it does not start with it either (${String(error)})`);
  }
}

/** To be called before the program is started: behind a crash within an exchange the old folder comes back. */
export async function recoverSwap({ root, data }: DatabaseFolder): Promise<void> {
  if (await isThere(join(root, data))) return;
  if (await isThere(join(root, outgoingOf(data)))) {
    await rename(join(root, outgoingOf(data)), join(root, data));
  }
}

function isThere(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  );
}
