/**
 * Owns what is dumped of an app: a tar of `app.json`, `upload/<filename>` and `volumes/<name>/…`.
 *
 * What cannot be kept (devices, pipes, sockets, links that lead out, names that no archive may hold) stays
 * out, and is counted.
 */
import { open } from 'node:fs/promises';

import { Folder, within } from '../../lib/untrusted-files/folder.ts';
import { tarEnd } from '../tar/tar-header.ts';
import { fileEntry, inBlocks, ofFolder, textEntry } from '../tar/tar-tree.ts';
import type { AppTarget } from '../targets.ts';
import type { Source } from './source.ts';

/** `missed` is told once, when there was something. */
export function appSource(target: AppTarget, missed: (count: number) => void): Source {
  return {
    kind: 'app',
    ending: 'tar',
    read: (signal) => inBlocks(entries(target, missed, signal)),
  };
}

async function* entries(
  { volumes, upload, settings }: AppTarget,
  missed: (count: number) => void,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array> {
  let left = 0;
  yield* textEntry('app.json', `${JSON.stringify(settings, null, 2)}\n`);
  if (upload !== null) {
    const file = await open(upload.path);
    try {
      yield* untilAborted(fileEntry(Buffer.from(`upload/${upload.filename}`), file), signal);
    } finally {
      await file.close();
    }
  }
  for (const { name, folder } of volumes) {
    const opened = Folder.open(folder.root).then((above) =>
      within(Promise.resolve(above), () => above.folder(folder.data)),
    );
    yield* untilAborted(ofFolder(opened, `volumes/${name}/`, { missed: () => left++ }), signal);
  }
  yield tarEnd;
  if (left > 0) missed(left);
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
