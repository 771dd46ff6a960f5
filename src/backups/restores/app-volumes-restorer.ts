/**
 * Owns the way back of the files of an app that are not on this machine, or lie in volumes of containers: what is made
 * of them takes the place of what the app has. A volume that is not in the tar stays as it is.
 *
 * 1. Nothing is unpacked here: the driver writes the volumes, where their containers run, and the agent the files.
 * 2. No link leads out of its volume, and no entry is placed outside of one.
 */
import { isUtf8 } from 'node:buffer';
import type { ArchiveEntry } from '../../archives/formats/entry.ts';
import { normalName } from '../../archives/formats/names.ts';
import { paddingOf, tarEnd, tarHeaders } from '../tar/tar-header.ts';
import { type TarItem, TarReader } from '../tar/tar-reader.ts';
import { inBlocks, zeros } from '../tar/tar-tree.ts';
import {
  type CameUpload,
  checkEntry,
  type Found,
  nothingFound,
  tellUnknown,
} from './app-entries.ts';
import { unfit } from './failures.ts';
import type { Restorer } from './restorer.ts';
import type { TarSwap } from './tar-swap.ts';

export interface AppVolumesRestoring {
  data: TarSwap;
  /** What came besides, before anything is touched. Rejects to refuse it. */
  received(upload: CameUpload): Promise<void>;
}

const prefix = 'volumes/';
const types = { file: 'file', directory: 'folder', symlink: 'link', hardlink: 'hardlink' } as const;
const kinds: Readonly<Record<string, ArchiveEntry['kind']>> = {
  ...{ '0': 'file', '7': 'file', '1': 'hardlink', '2': 'symlink', '5': 'directory' },
};

export function appVolumesRestorer(restoring: AppVolumesRestoring): Restorer {
  const { names: known, run } = restoring.data;
  return {
    async restore(bytes, log, signal) {
      log('The files are written beside the live ones.');
      await run(log, async (write) => {
        const found = nothingFound();
        await write(inBlocks(volumesOf(bytes, { found, known, restoring, signal })), signal);
        signal.throwIfAborted();
        tellUnknown(found, known, log);
        return found.volumes;
      });
    },
  };
}

interface Reading {
  found: Found;
  known: ReadonlySet<string>;
  restoring: AppVolumesRestoring;
  signal: AbortSignal;
}

/** What belongs into volumes, under names that begin with those of the volumes. */
async function* volumesOf(
  bytes: AsyncIterable<Uint8Array>,
  { found, known, restoring, signal }: Reading,
): AsyncGenerator<Uint8Array> {
  const tar = new TarReader(bytes);
  try {
    for (let item = await tar.next(); item !== null; item = await tar.next()) {
      signal.throwIfAborted();
      const entry = entryOf(item);
      checkEntry(entry, found);
      const [top, second] = entry.path.split('/');
      if (second === undefined) continue;
      if (top === 'upload') {
        await restoring.received({ filename: second, content: tar.content() });
      } else if (known.has(second)) yield* headerOf(item, entry);
      else continue;
      if (top === 'upload' || entry.kind !== 'file') continue;
      yield* tar.content();
      yield* zeros(paddingOf(item.size));
    }
  } finally {
    await tar.close();
  }
  yield tarEnd;
}

function* headerOf(item: TarItem, { path, kind, target }: ArchiveEntry): Generator<Uint8Array> {
  const name = path.slice(prefix.length) + (kind === 'directory' ? '/' : '');
  const to = kind === 'hardlink' ? target.slice(prefix.length) : target;
  const size = kind === 'file' ? item.size : 0;
  const names = { name: Buffer.from(name), target: Buffer.from(to) };
  yield tarHeaders({ ...item, ...names, type: types[kind], size });
}

/** Throws ARCHIVE_UNSAFE_ENTRY, ARTIFACT_UNFIT. */
function entryOf({ name, flag, mode, target }: TarItem): ArchiveEntry {
  const kind = kinds[flag];
  if (kind === undefined || !isUtf8(name) || !isUtf8(target)) {
    throw unfit(
      `The artifact holds what is no part of an app: ${JSON.stringify(name.toString())}.`,
    );
  }
  const path = normalName(name.toString());
  const to = target.toString();
  const link = kind === 'hardlink' ? normalName(to) : kind === 'symlink' ? to : '';
  return { path, kind, executable: (mode & 0o111) !== 0, target: link };
}
