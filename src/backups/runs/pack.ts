/** Owns what an artifact is: a gzip file, and for a recipient that inside of an age file. */
import { encrypted } from '../streams/age/encrypted.ts';
import type { GzipPool } from '../streams/gzip-pool.ts';
import { gzipped } from '../streams/gzipped.ts';
import { Hashed, hashed } from '../streams/hashed.ts';
import { type Artifact, writeArtifact, type Writing } from './artifact.ts';

export interface WrittenArtifact extends Artifact {
  /** Hex; null where it was not asked for. */
  dumpSha256: string | null;
}

export interface Packing {
  /** Who can read it, as age names it; null: everybody. */
  recipient: string | null;
  /** Whether the dump itself is to be known by its hash. */
  hashesDump: boolean;
}

/** Makes the artifact of a dump at its destination; see `writeArtifact`. */
export async function packInto(
  dump: AsyncIterable<Uint8Array>,
  pool: GzipPool,
  { recipient, hashesDump, ...writing }: Packing & Writing,
): Promise<WrittenArtifact> {
  const whole = hashesDump ? hashed(dump) : dump;
  const packed = gzipped(whole, pool);
  const artifact = await writeArtifact(
    recipient === null ? packed : encrypted(packed, [recipient]),
    writing,
  );
  return { ...artifact, dumpSha256: whole instanceof Hashed ? whole.sha256 : null };
}
