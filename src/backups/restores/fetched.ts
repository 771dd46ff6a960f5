/** Owns copying a stored artifact onto this disk, compared with what was written. */
import { createWriteStream } from 'node:fs';
import { dirname } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { ServiceError } from '../../lib/errors.ts';
import { mustHaveRoom, roomWatch } from '../../lib/kept-free.ts';
import type { Destination } from '../destinations/destination.ts';
import type { Artifact } from '../runs/artifact.ts';
import { hashed } from '../streams/hashed.ts';

export interface StoredArtifact extends Artifact {
  key: string;
}

/**
 * Makes the file. `seen` is told how many bytes came. Rejects with VERIFICATION_FAILED for what is not the artifact,
 * by its length before a byte is read, with STORAGE_FULL, and with the errors of the destination.
 */
export async function fetchArtifact(
  { key, sizeBytes, sha256 }: StoredArtifact,
  destination: Pick<Destination, 'read'>,
  path: string,
  seen: (bytes: number) => void,
  signal: AbortSignal,
): Promise<void> {
  const folder = dirname(path);
  mustHaveRoom(folder, sizeBytes);
  const { bytes, stream } = await destination.read(key, undefined, signal);
  // Nobody may wait for it any more: it makes no file then.
  signal.throwIfAborted();
  if (bytes !== sizeBytes) throw changed();
  const content = hashed(stream);
  const written = roomWatch(folder);
  const told = async function* (): AsyncGenerator<Uint8Array> {
    for await (const chunk of content) {
      seen(chunk.length);
      written(chunk.length);
      yield chunk;
    }
  };
  await pipeline(Readable.from(told()), createWriteStream(path, { flags: 'wx', mode: 0o600 }), {
    signal,
  });
  if (content.sha256 !== sha256) throw changed();
}

function changed(): ServiceError {
  const detail = 'The stored backup holds other bytes than were written.';
  return new ServiceError('VERIFICATION_FAILED', detail);
}
