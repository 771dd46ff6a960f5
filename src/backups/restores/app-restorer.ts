/**
 * Owns the way back of the files of an app: a tar of `app.json`, `upload/<filename>` and `volumes/<name>/…`.
 *
 * 1. All is received and checked beside the live files; only then the app is stopped, and its volumes change
 *    their places. A volume that is not in the tar stays as it is.
 * 2. No link leads out of its volume, wherever the volume lies.
 * 3. Nothing of `app.json` is applied here: the caller knows who may change what.
 */
import { mkdir, rename } from 'node:fs/promises';
import { join } from 'node:path';

import type { ArchiveEntry } from '../../archives/formats/entry.ts';
import { ServiceError } from '../../lib/errors.ts';
import { Folder, readWhole, within } from '../../lib/untrusted-files/folder.ts';
import { removeTree } from '../../lib/untrusted-files/remove.ts';
import type { AppVolume, ServerControl } from '../targets.ts';
import { staysBelow } from '../tar/tar-tree.ts';
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
  received(parts: AppParts): Promise<void>;
}

export interface AppParts {
  /** Of `app.json`, as it came; undefined: there is none. */
  settings: unknown;
  /** Good until the restore is over. */
  upload: { filename: string; path: string } | null;
}

const settingsName = 'app.json';
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
        const unknown = [...found.volumes].filter((name) => !names.has(name));
        if (unknown.length > 0) log(`The app has no volume ${unknown.join(', ')}: it is left out.`);
        const come = restoring.volumes.filter(({ name }) => found.volumes.has(name));
        await exchange(restoring, come, log);
      } finally {
        await removeTree(staging).catch(() => log('The unpacked files could not be removed yet.'));
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
  await removeTree(staging);
  await mkdir(staging, { mode: 0o700 });
  const found: Found = { volumes: new Set(), upload: null, hasSettings: false };
  await unpackTar(bytes, { path: staging, check: (entry) => checkEntry(entry, found), signal });
  const settings = found.hasSettings ? await settingsIn(staging) : undefined;
  const { upload: filename } = found;
  const upload = filename === null ? null : { filename, path: join(staging, 'upload', filename) };
  await restoring.received({ settings, upload });
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

/** What is in a tar. */
interface Found {
  volumes: Set<string>;
  upload: string | null;
  hasSettings: boolean;
}

function checkEntry(entry: ArchiveEntry, found: Found): boolean {
  const { path, kind } = entry;
  const [top = '', second, ...rest] = path.split('/');
  const isFolder = kind === 'directory';
  if (path === '') return true;
  if (path === settingsName && kind === 'file') {
    found.hasSettings = true;
    return true;
  }
  if (
    top === 'upload' &&
    rest.length === 0 &&
    (second === undefined ? isFolder : kind === 'file')
  ) {
    if (second !== undefined) found.upload = second;
    return true;
  }
  if (top !== 'volumes' || (rest.length === 0 && !isFolder)) {
    throw unfit(`The artifact holds what is no part of an app: ${JSON.stringify(path)}.`);
  }
  if (second === undefined) return true;
  found.volumes.add(second);
  if (kind === 'symlink' || kind === 'hardlink')
    checkLink(entry, `volumes/${second}/`, rest.length);
  return true;
}

function checkLink({ path, kind, target }: ArchiveEntry, volume: string, depth: number): void {
  const isSafe = kind === 'symlink' ? staysBelow(target, depth - 1) : target.startsWith(volume);
  if (isSafe) return;
  const sentence = `The artifact holds a link that leaves its volume: ${JSON.stringify(path)}.`;
  throw new ServiceError('ARCHIVE_UNSAFE_ENTRY', sentence);
}

async function settingsIn(staging: string): Promise<unknown> {
  const text = await within(Folder.open(staging), async (folder) => {
    const file = await folder.file(settingsName);
    try {
      return await readWhole(file, settingsMaxBytes);
    } finally {
      await file.close();
    }
  });
  try {
    return JSON.parse(text?.toString('utf8') ?? '') as unknown;
  } catch {
    throw unfit('Its app.json is no JSON, or too long.');
  }
}
