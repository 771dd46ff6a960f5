/**
 * Owns the check of an artifact before anything of its target is touched: that it is whole, a backup of the
 * target's kind, no larger than what there is room for, and, where it is a tar, that no entry of it leads out of it.
 */
import { createHash } from 'node:crypto';
import { TarScanner } from '../../archives/formats/tar-scanner.ts';
import { EntryTree } from '../../archives/formats/entry-tree.ts';
import type { ArchiveVisitor } from '../../archives/formats/entry.ts';
import { type ArchiveLimits, Meter } from '../../archives/formats/limits.ts';
import { noVisitor } from '../../archives/formats/entry.ts';
import { corrupt } from '../../archives/formats/refusals.ts';
import { type AppJson, appJsonMaxBytes, readAppJson } from '../app-json.ts';
import {
  type ArtifactKind,
  checkFits,
  kindBytes,
  kindOf,
  kindOfTar,
  ofInstance,
  type SourceKind,
} from './artifact-kind.ts';
import { ServiceError } from '../../lib/errors.ts';
import { artifactFile } from '../../store/files/snapshot.ts';

export interface WantedArtifact {
  source: SourceKind;
  /** Behind the compression, where a small artifact may be of any length. */
  bytesMax: number;
}

export interface CheckedArtifact {
  kind: ArtifactKind;
  /** Behind the compression. */
  bytes: number;
  /** Of the unpacked bytes, hex; null where nobody asks for it. */
  sha256: string | null;
  /** Of an app. */
  appJson: AppJson | null;
}

/** Of backups: more than an upload may have, and less than would fill the memory with names. */
const limits: ArchiveLimits = {
  entriesMax: 2_000_000,
  expandedBytesMax: Infinity,
  ratioMax: Infinity,
  ratioFreeBytes: Infinity,
  namesBytesMax: 192 * 1024 ** 2,
  linkStepsMax: 20_000_000,
};

/**
 * Reads the bytes behind the compression to their end, or as far as there may be any. Throws ARTIFACT_UNFIT,
 * ARCHIVE_*, STORAGE_FULL and their errors.
 */
export async function checkArtifact(
  bytes: AsyncIterable<Uint8Array>,
  { source: wanted, bytesMax }: WantedArtifact,
): Promise<CheckedArtifact> {
  let head = Buffer.alloc(0);
  let reading: Reading | null = null;
  let count = 0;
  for await (const chunk of bytes) {
    count += chunk.length;
    if (count > bytesMax) throw tooLarge(bytesMax);
    if (reading !== null) {
      reading.push(chunk);
      continue;
    }
    head = Buffer.concat([head, chunk]);
    if (head.length < kindBytes) continue;
    reading = readingOf(head, wanted);
    reading.push(head);
  }
  if (reading === null) {
    reading = readingOf(head, wanted);
    reading.push(head);
  }
  return { ...(await reading.finish()), bytes: count };
}

function tooLarge(bytesMax: number): ServiceError {
  const room = `${String(Math.max(0, Math.floor(bytesMax / 2 ** 20)))} MiB`;
  const detail = `Unpacked the artifact is larger than the room that there is for it: ${room}.`;
  return new ServiceError('STORAGE_FULL', detail);
}

interface Reading {
  push: (chunk: Uint8Array) => void;
  finish: () => Promise<Omit<CheckedArtifact, 'bytes'>>;
}

function readingOf(head: Uint8Array, wanted: SourceKind): Reading {
  const kind = kindOf(head);
  if (kind === 'tar') return new TarReading(wanted);
  const fit = checkFits(kind, wanted);
  const whole = { kind: fit, sha256: null, appJson: null };
  return { push: () => undefined, finish: () => Promise.resolve(whole) };
}

class TarReading implements Reading {
  readonly #wanted: SourceKind;
  readonly #root = new Set<string>();
  readonly #tree: EntryTree;
  readonly #scanner: TarScanner;
  readonly #hash = createHash('sha256');
  #appJson: Uint8Array[] | null = null;
  #isAppJson = false;

  constructor(wanted: SourceKind) {
    this.#wanted = wanted;
    const meter = new Meter(limits);
    this.#tree = new EntryTree(meter);
    const notTar = (): Error => corrupt('it is no tar');
    this.#scanner = new TarScanner(this.#tree, this.#visitor(), meter, notTar);
  }

  push(chunk: Uint8Array): void {
    this.#hash.update(chunk);
    this.#scanner.push(chunk);
  }

  async finish(): Promise<Omit<CheckedArtifact, 'bytes'>> {
    this.#scanner.finish();
    await this.#tree.finish();
    const kind = checkFits(kindOfTar(this.#root), this.#wanted);
    const isApp = kind.source === 'app' && this.#appJson !== null;
    const appJson = isApp ? readAppJson(Buffer.concat(this.#appJson ?? [])) : null;
    return { kind, sha256: this.#hash.digest('hex'), appJson };
  }

  #visitor(): ArchiveVisitor {
    return {
      ...noVisitor,
      entry: ({ path, kind }) => {
        if (path.includes('/')) return;
        // A link of this name is none of these files.
        if (kind === 'file') this.#root.add(path);
        if (path === artifactFile) throw ofInstance();
        this.#isAppJson = kind === 'file' && path === 'app.json';
        if (this.#isAppJson) this.#appJson = [];
      },
      data: (bytes) => {
        if (this.#isAppJson) this.#keep(bytes);
      },
      endFile: () => {
        this.#isAppJson = false;
      },
    };
  }

  #keep(bytes: Uint8Array): void {
    const kept = this.#appJson ?? [];
    kept.push(new Uint8Array(bytes));
    const size = kept.reduce((sum, { length }) => sum + length, 0);
    if (size <= appJsonMaxBytes) return;
    throw new ServiceError('ARTIFACT_UNFIT', 'The app.json of the backup is too large.');
  }
}
