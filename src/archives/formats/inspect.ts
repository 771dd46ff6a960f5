/**
 * Owns the one entry to the archive readers. A stream of bytes goes in. Either it was a whole and harmless
 * archive of its format, or a ServiceError says why not.
 */
import type { ServiceError } from '../../lib/errors.ts';
import { ByteReader, type ByteSource } from './byte-reader.ts';
import { gunzip } from './decompress.ts';
import type { ArchiveVisitor } from './entry.ts';
import { EntryTree } from './entry-tree.ts';
import type { ArchiveFormat } from './format.ts';
import { type ArchiveLimits, Meter } from './limits.ts';
import { corrupt, empty, mismatch } from './refusals.ts';
import { TarScanner } from './tar-scanner.ts';
import type { RandomAccess } from './zip-directory.ts';
import { ZipScanner } from './zip-scanner.ts';

export interface Inspection {
  format: ArchiveFormat;
  /** A chunk is invalid once the next one is requested. */
  source: ByteSource;
  /** The bytes that `source` gave so far; only zip reads them. */
  file: RandomAccess;
  limits: ArchiveLimits;
  visitor: ArchiveVisitor;
  /** The length of the archive, when it is known. The ratio then uses it, not the bytes that came so far. */
  totalBytes?: number;
  /** Absent: what holds no files is refused. */
  mayBeEmpty?: boolean;
}

export interface Inspected {
  entries: number;
  /** See `EntryTree.soleFolder`. */
  soleFolder: string | null;
}

/** Reads the archive to its end. Throws ARCHIVE_* and the errors of source and visitor. */
export async function inspectArchive(inspection: Inspection): Promise<Inspected> {
  const { format, visitor, mayBeEmpty = false } = inspection;
  const reader = new ByteReader(inspection.source);
  const meter = new Meter(inspection.limits, inspection.totalBytes);
  const tree = new EntryTree(meter);
  if ((await reader.chunk()) === null) throw empty();
  switch (format) {
    case 'zip':
      await expectMagic(reader, zipMagics, '.zip');
      await new ZipScanner({ reader, tree, visitor, meter, file: inspection.file }).scan();
      break;
    case 'tar.gz': {
      await expectMagic(reader, [gzipMagic], '.tar.gz');
      const notTar = (): ServiceError => corrupt('there is no tar inside the gzip');
      const scanner = new TarScanner(tree, visitor, meter, notTar);
      await gunzip(reader, (bytes, consumed) => {
        meter.expand(bytes.length, consumed);
        scanner.push(bytes);
      });
      scanner.finish();
      break;
    }
    case 'tar': {
      const scanner = new TarScanner(tree, visitor, meter, () => mismatch('.tar'));
      for (let chunk = await reader.chunk(); chunk !== null; chunk = await reader.chunk()) {
        scanner.push(chunk);
        reader.skip(chunk.length);
      }
      scanner.finish();
    }
  }
  if (tree.files === 0 && !mayBeEmpty) throw empty();
  await tree.finish();
  return { entries: meter.entries, soleFolder: await tree.soleFolder() };
}

const gzipMagic = [0x1f, 0x8b];
// The signature of a local header, or of the end record in a zip without entries.
const zipMagics = [
  [0x50, 0x4b, 0x03, 0x04],
  [0x50, 0x4b, 0x05, 0x06],
];

/** A file that is too short for the check is judged by the bytes it has. */
async function expectMagic(
  reader: ByteReader,
  magics: readonly (readonly number[])[],
  name: string,
): Promise<void> {
  const length = magics[0]?.length ?? 0;
  const bytes = (await reader.peek(length)) ?? (await reader.chunk()) ?? new Uint8Array(0);
  const fits = magics.some((magic) => bytes.every((byte, i) => byte === magic[i]));
  if (!fits) throw mismatch(name);
}
