/**
 * Owns unpacking the tar of a backup into a folder of ours, with the checks of uploads. The tar is read here, where
 * its entries are judged; its files are written by a thread.
 */
import { setImmediate } from 'node:timers/promises';

import { inspectArchive } from '../../archives/formats/inspect.ts';
import type { ArchiveEntry, ArchiveVisitor } from '../../archives/formats/entry.ts';
import type { ArchiveLimits } from '../../archives/formats/limits.ts';
import type { TreeStep } from '../threads/messages.ts';
import { ThreadedWriter } from '../threads/restore-thread.ts';

/** Looks at each entry before it is made; throws to refuse it. False: it is left out. */
export type EntryCheck = (entry: ArchiveEntry) => boolean;

/** Beyond those of uploads: what was dumped has to come back. */
const limits: ArchiveLimits = {
  entriesMax: 2_000_000,
  expandedBytesMax: Number.MAX_SAFE_INTEGER,
  ratioMax: Number.MAX_SAFE_INTEGER,
  ratioFreeBytes: 0,
  namesBytesMax: 256 * 1024 ** 2,
  linkStepsMax: 40_000_000,
};
/** Of a tar, read in one turn of the loop. */
const turnBytes = 64 * 1024;

export interface Unpacking {
  path: string;
  check: EntryCheck;
  signal: AbortSignal;
  /** As `Inspection.mayBeEmpty`. */
  mayBeEmpty?: boolean;
}

/** Throws ARCHIVE_* for what is no whole and harmless tar, and what `check` throws. */
export async function unpackTar(
  bytes: AsyncIterable<Uint8Array>,
  { path, check, signal, mayBeEmpty = false }: Unpacking,
): Promise<void> {
  const writer = new ThreadedWriter(path, signal);
  const visitor = new Checked(check);
  const turns = inTurns(bytes);
  try {
    await inspectArchive({
      format: 'tar',
      ...{ limits, mayBeEmpty },
      source: {
        next: async () => {
          await writer.write(visitor.taken());
          const { value, done } = await turns.next();
          return done === true ? null : value;
        },
      },
      file: { read: () => Promise.reject(new Error('Cannot read back: a tar is a stream')) },
      visitor,
    });
    signal.throwIfAborted();
    await writer.write(visitor.taken());
    await writer.finish();
  } finally {
    await writer.close();
    await turns.return(undefined);
  }
}

/** So that others get their turn in between. */
async function* inTurns(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array, undefined> {
  for await (const chunk of bytes) {
    for (let at = 0; at < chunk.length; at += turnBytes) {
      yield chunk.subarray(at, at + turnBytes);
      await setImmediate();
    }
  }
}

/** Collects the steps of what is not left out. */
class Checked implements ArchiveVisitor {
  readonly #check: EntryCheck;
  #steps: TreeStep[] = [];
  #isLeftOut = false;

  constructor(check: EntryCheck) {
    this.#check = check;
  }

  /** The steps since the last call. */
  taken(): TreeStep[] {
    const steps = this.#steps;
    this.#steps = [];
    return steps;
  }

  entry(entry: ArchiveEntry): void {
    this.#isLeftOut = !this.#check(entry);
    if (!this.#isLeftOut) this.#steps.push({ step: 'entry', entry });
  }

  data(bytes: Uint8Array): void {
    // A part of a buffer would be sent with the whole of it.
    if (!this.#isLeftOut) this.#steps.push({ step: 'data', bytes: new Uint8Array(bytes) });
  }

  endFile(): void {
    if (!this.#isLeftOut) this.#steps.push({ step: 'end' });
  }

  executable(path: string): void {
    this.#steps.push({ step: 'executable', path });
  }

  turnIntoSymlink(path: string, target: string): void {
    this.#steps.push({ step: 'symlink', path, target });
  }
}
