/**
 * Owns the way back of the files of an app: a tar of `app.json`, `upload/<filename>` and `volumes/<name>/…`.
 *
 * 1. All is received and checked beside the live files; only then the app is stopped, and its volumes change
 *    their places. A volume that is not in the tar stays as it is.
 * 2. No link leads out of its volume, wherever the volume lies.
 * 3. Nothing of `app.json` is applied here: the caller knows who may change what.
 */
import { createReadStream } from 'node:fs';
import { mkdir, rename } from 'node:fs/promises';
import { join } from 'node:path';

import { Folder, readWhole, within } from '../../lib/untrusted-files/folder.ts';
import type { AppVolume, ServerControl } from '../targets.ts';
import { removeInThread } from '../threads/tree-thread.ts';
// prettier-ignore
import { type CameUpload, checkEntry, type Found, nothingFound, settingsName, tellUnknown } from './app-entries.ts';
import { unfit, untouched } from './failures.ts';
import { swapFolders } from './folder-swap.ts';
import type { Restorer } from './restorer.ts';
import { unpackTar } from './tar-reading.ts';

export interface AppRestoring {
  /** Those that the app has now. */
  volumes: readonly AppVolume[];
  /** Absolute; a folder of ours on the same file system, which may be missing and is removed in the end. */
  staging: string;
  control: ServerControl;
  /** What came besides, when all is checked and before anything is touched. Rejects to refuse it. */
  received(upload: CameUpload): Promise<void>;
}

const settingsMaxBytes = 4 * 1024 * 1024;

export function appRestorer(restoring: AppRestoring): Restorer {
  return {
    async restore(bytes, log, signal) {
      const { staging } = restoring;
      try {
        log('The files are unpacked beside the live ones.');
        const found = await unpack(restoring, bytes, signal).catch((error: unknown) => {
          throw untouched(error);
        });
        const names = new Set(restoring.volumes.map(({ name }) => name));
        tellUnknown(found, names, log);
        const come = restoring.volumes.filter(({ name }) => found.volumes.has(name));
        await exchange(restoring, come, log);
      } finally {
        await removeInThread(staging).catch(() =>
          log('The unpacked files could not be removed yet.'),
        );
      }
    },
  };
}

async function unpack(
  restoring: AppRestoring,
  bytes: AsyncIterable<Uint8Array>,
  signal: AbortSignal,
): Promise<Found> {
  const { staging } = restoring;
  await removeInThread(staging);
  await mkdir(staging, { mode: 0o700 });
  const found = nothingFound();
  await unpackTar(bytes, { path: staging, check: (entry) => checkEntry(entry, found), signal });
  if (found.hasSettings) await checkSettings(staging);
  const { upload: filename } = found;
  if (filename !== null) {
    const content = createReadStream(join(staging, 'upload', filename));
    await restoring.received({ filename, content: content as AsyncIterable<Uint8Array> });
  }
  return found;
}

function exchange(
  { staging, control }: AppRestoring,
  come: readonly AppVolume[],
  log: (line: string) => void,
): Promise<void> {
  const places = come.map(({ folder }) => folder);
  return swapFolders({ places, control, log }, async (paths) => {
    for (const [at, { name }] of come.entries()) {
      await rename(join(staging, 'volumes', name), paths[at] ?? '');
    }
  });
}

async function checkSettings(staging: string): Promise<void> {
  const text = await within(Folder.open(staging), async (folder) => {
    const file = await folder.file(settingsName);
    try {
      return await readWhole(file, settingsMaxBytes);
    } finally {
      await file.close();
    }
  });
  try {
    JSON.parse(text?.toString('utf8') ?? '');
  } catch {
    throw unfit('Its app.json is no JSON, or too long.');
  }
}
