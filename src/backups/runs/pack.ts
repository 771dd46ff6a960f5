/** Owns what an artifact is: a gzip file, and for a recipient that inside of an age file. */
import { encrypted } from '../streams/age/encrypted.ts';
import type { GzipPool } from '../streams/gzip-pool.ts';
import { gzipped } from '../streams/gzipped.ts';

/** The artifact of a dump; `recipient`: who can read it, null for everybody. */
export function pack(
  dump: AsyncIterable<Uint8Array>,
  recipient: string | null,
  pool: GzipPool,
): AsyncIterable<Uint8Array> {
  const packed = gzipped(dump, pool);
  return recipient === null ? packed : encrypted(packed, [recipient]);
}
