/** Owns how tests look at an archive that is in memory. */
import { asServiceError, type ErrorCode } from '../../src/lib/errors.ts';
import { type ArchiveVisitor, noVisitor } from '../../src/archives/formats/entry.ts';
import type { ArchiveFormat } from '../../src/archives/formats/format.ts';
import { type Inspected, inspectArchive } from '../../src/archives/formats/inspect.ts';
import { type ArchiveLimits, archiveLimits } from '../../src/archives/formats/limits.ts';

/** A source of `bytes` in pieces of these lengths (repeated); each piece is wiped once it is dead. */
export function sourceOf(
  bytes: Uint8Array,
  pieces: readonly number[] = [64 * 1024],
): { next(): Promise<Uint8Array | null> } {
  let at = 0;
  let turn = 0;
  let last: Uint8Array | null = null;
  return {
    async next() {
      last?.fill(0xaa);
      last = null;
      if (at >= bytes.length) return null;
      const length = Math.max(1, pieces[turn++ % pieces.length] ?? 1);
      last = Uint8Array.prototype.slice.call(bytes, at, at + length);
      at += length;
      return last;
    },
  };
}

export async function inspect(
  format: ArchiveFormat,
  bytes: Uint8Array,
  options: {
    pieces?: readonly number[];
    limits?: Partial<ArchiveLimits>;
    visitor?: Partial<ArchiveVisitor>;
  } = {},
): Promise<Inspected> {
  return await inspectArchive({
    format,
    source: sourceOf(bytes, options.pieces),
    file: { read: async (offset, length) => bytes.subarray(offset, offset + length) },
    limits: { ...archiveLimits, ...options.limits },
    visitor: { ...noVisitor, ...options.visitor },
  });
}

/** `ok`, or the code of the refusal; anything unexpected is thrown on. */
export async function verdict(...args: Parameters<typeof inspect>): Promise<'ok' | ErrorCode> {
  try {
    await inspect(...args);
    return 'ok';
  } catch (error) {
    const refusal = asServiceError(error);
    if (refusal.code === 'INTERNAL') throw error;
    return refusal.code;
  }
}
