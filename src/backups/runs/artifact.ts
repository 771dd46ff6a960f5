/**
 * Owns the way of one artifact to its destination, and the proof that it is there.
 *
 * 1. Bytes are read as they are written: memory does not grow with the artifact.
 * 2. An artifact is made whole or not at all. What a failure leaves, its destination can sweep.
 * 3. Nothing waits longer than its signal, whatever source and destination do.
 */
import { ServiceError } from '../../lib/errors.ts';
import type { Destination, ObjectWriter } from '../destinations/destination.ts';
import { abortable } from '../streams/abortable.ts';
import { takenFrom } from '../streams/chunks.ts';
import { hashed } from '../streams/hashed.ts';
import { untilAborted } from '../streams/until-aborted.ts';

export interface Artifact {
  sizeBytes: number;
  /** Hex. */
  sha256: string;
}

export interface Transport {
  destination: Pick<Destination, 'open' | 'read'>;
  key: string;
  signal: AbortSignal;
  /** Is told how many bytes are done. */
  progress: (bytes: number) => void;
}

export interface Writing extends Transport {
  /** After a failure: resolves when nothing of the writing is under way any more. */
  leaves: (ending: Promise<unknown>) => void;
}

/** Writes what comes. Rejects with the errors of the bytes, of the destination, and of the signal. */
export async function writeArtifact(
  bytes: AsyncIterable<Uint8Array>,
  { destination, key, signal, progress, leaves }: Writing,
): Promise<Artifact> {
  const opening = destination.open(key, signal);
  let last: Promise<unknown> = opening;
  const artifact = hashed(abortable(bytes, signal));
  try {
    const writer = await untilAborted(opening, signal);
    for await (const chunk of takenFrom(artifact)) {
      last = writer.write(chunk);
      await untilAborted(last, signal);
      progress(artifact.bytes);
    }
    last = writer.finish();
    await untilAborted(last, signal);
  } catch (error) {
    leaves(ended(last, opening));
    throw error;
  }
  return { sizeBytes: artifact.bytes, sha256: artifact.sha256 };
}

/** What was aborted may still make the object for a moment, so that is waited for. */
async function ended(last: Promise<unknown>, opening: Promise<ObjectWriter>): Promise<void> {
  await last.catch(() => undefined);
  const writer = await opening.catch(() => null);
  await writer?.abort();
}

/** Reads the artifact back. Rejects with VERIFICATION_FAILED when it is not the one that was written. */
export async function verifyArtifact(
  { sizeBytes, sha256 }: Artifact,
  { destination, key, signal, progress }: Transport,
): Promise<void> {
  const { bytes, stream } = await untilAborted(destination.read(key, undefined, signal), signal);
  if (bytes !== sizeBytes) throw otherLength(bytes, sizeBytes);
  const found = hashed(abortable(stream, signal));
  let read = 0;
  for await (const chunk of takenFrom(found)) {
    read += chunk.length;
    // It may go on for ever.
    if (read > sizeBytes) break;
    progress(read);
  }
  if (read !== sizeBytes) throw otherLength(read, sizeBytes);
  if (found.sha256 !== sha256) {
    throw unverified('The backup was read back, and holds other bytes than were written.');
  }
}

function otherLength(found: number, written: number): ServiceError {
  const [has, wrote] = [String(found), String(written)];
  return unverified(`The backup was read back with ${has} bytes, and ${wrote} were written.`);
}

function unverified(detail: string): ServiceError {
  return new ServiceError('VERIFICATION_FAILED', detail);
}
