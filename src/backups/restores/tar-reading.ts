/** Owns unpacking the tar of a backup into a folder of ours, with the checks of uploads. */
import { setImmediate } from 'node:timers/promises';

import { TreeWriter } from '../../archives/extracting/tree-writer.ts';
import { inspectArchive } from '../../archives/formats/inspect.ts';
import type { ArchiveEntry, ArchiveVisitor } from '../../archives/formats/entry.ts';
import type { ArchiveLimits } from '../../archives/formats/limits.ts';

/** Looks at each entry before it is made; throws to refuse it. False: it is left out. */
export type EntryCheck = (entry: ArchiveEntry) => boolean;

/** Beyond those of uploads: what was dumped has to come back. */
const limits: ArchiveLimits = {
  entriesMax: 2_000_000,
  expandedBytesMax: Number.MAX_SAFE_INTEGER,
  ratioMax: Number.MAX_SAFE_INTEGER,
  ratioFreeBytes: 0,
  namesBytesMax: 256 * 1024 ** 2,
};
/** Written in one turn of the loop. */
const turnBytes = 32 * 1024;

export interface Unpacking {
  path: string;
  check: EntryCheck;
  signal: AbortSignal;
}

/** Throws ARCHIVE_* for what is no whole and harmless tar, and what `check` throws. */
export async function unpackTar(
  bytes: AsyncIterable<Uint8Array>,
  { path, check, signal }: Unpacking,
): Promise<void> {
  const writer = new TreeWriter(path, null, () => signal.throwIfAborted());
  const turns = inTurns(bytes);
  try {
    await inspectArchive({
      format: 'tar',
      limits,
      source: {
        next: async () => {
          const { value, done } = await turns.next();
          return done === true ? null : value;
        },
      },
      file: { read: () => Promise.reject(new Error('Cannot read back: a tar is a stream')) },
      visitor: new Checked(writer, check),
    });
    signal.throwIfAborted();
    writer.finish();
  } finally {
    writer.close();
    await turns.return(undefined);
  }
}

/** Files are written at once, so that others get their turn in between. */
async function* inTurns(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array, undefined> {
  for await (const chunk of bytes) {
    for (let at = 0; at < chunk.length; at += turnBytes) {
      yield chunk.subarray(at, at + turnBytes);
      await setImmediate();
    }
  }
}

class Checked implements ArchiveVisitor {
  readonly #writer: TreeWriter;
  readonly #check: EntryCheck;
  #isLeftOut = false;

  constructor(writer: TreeWriter, check: EntryCheck) {
    this.#writer = writer;
    this.#check = check;
  }

  entry(entry: ArchiveEntry): void {
    this.#isLeftOut = !this.#check(entry);
    if (!this.#isLeftOut) this.#writer.entry(entry);
  }

  data(bytes: Uint8Array): void {
    if (!this.#isLeftOut) this.#writer.data(bytes);
  }

  endFile(): void {
    if (!this.#isLeftOut) this.#writer.endFile();
  }

  executable(path: string): void {
    this.#writer.executable(path);
  }

  turnIntoSymlink(path: string, target: string): void {
    this.#writer.turnIntoSymlink(path, target);
  }
}
