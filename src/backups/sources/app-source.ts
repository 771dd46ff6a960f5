/**
 * Owns what is dumped of an app: a tar of `app.json`, `upload/<filename>` and `volumes/<name>/…`.
 *
 * What cannot be kept (devices, pipes, sockets, links that lead out, names that no archive may hold) stays
 * out, and is counted.
 */
import { open } from 'node:fs/promises';

import { tarEnd } from '../tar/tar-header.ts';
import { fileEntry, inBlocks, textEntry } from '../tar/tar-tree.ts';
import { volumesTar } from '../tar/volume-tar.ts';
import type { AppTarget, ReadVolumes } from '../targets.ts';
import type { Source } from './source.ts';

/** `missed` is told once, when there was something. */
export function appSource(target: AppTarget, missed: (count: number) => void): Source {
  return {
    kind: 'app',
    ending: 'tar',
    read: (signal) => entries(target, missed, signal),
  };
}

async function* entries(
  { volumes, upload, settings }: AppTarget,
  told: (count: number) => void,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array> {
  let left = 0;
  yield* inBlocks(ofApp({ upload, settings }, signal));
  if ('live' in volumes) yield* inBlocks(ofVolumes(volumes, () => (left += 1), signal));
  else {
    for (const { name, read } of volumes) {
      const missed = yield* read(`volumes/${name}/`, signal);
      for (const count of Object.values(missed)) left += count;
    }
  }
  yield tarEnd;
  if (left > 0) told(left);
}

async function* ofApp(
  { upload, settings }: Pick<AppTarget, 'upload' | 'settings'>,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array> {
  yield* textEntry('app.json', `${JSON.stringify(settings, null, 2)}\n`);
  if (upload === null) return;
  const file = await open(upload.path);
  try {
    yield* untilAborted(fileEntry(Buffer.from(`upload/${upload.filename}`), file), signal);
  } finally {
    await file.close();
  }
}

async function* ofVolumes(
  { owner, live, files }: ReadVolumes,
  missed: () => void,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array> {
  if (Object.keys(live).length === 0) return;
  yield* volumesTar({ read: () => files.read(owner, live, signal), missed });
}

async function* untilAborted(
  pieces: AsyncIterable<Uint8Array>,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array> {
  for await (const piece of pieces) {
    signal.throwIfAborted();
    yield piece;
  }
}
