/**
 * Owns one artifact on its way out of a thread: read from its folder, opened where it is encrypted, sent in
 * chunks.
 *
 * 1. What cannot be read, or is not what was written, is refused before the first byte.
 * 2. Nothing is read while the receiver has no room.
 */
import { ServiceError } from '../../lib/errors.ts';
import { type Outlet, sendThrough } from '../../workers/sending/outlet.ts';
import { ServerDestination } from '../destinations/server-destination.ts';
import { decrypted } from '../streams/age/decrypted.ts';
import type { SendArtifact } from './artifact-messages.ts';

export async function sendArtifact(request: SendArtifact): Promise<void> {
  const { port, chunkBytes } = request;
  await sendThrough(port, (outlet) => send(request, outlet), chunkBytes);
}

async function send(request: SendArtifact, outlet: Outlet): Promise<void> {
  const { place, key, range, sizeBytes, recoveryKey, chunkBytes } = request;
  const destination = new ServerDestination(place, chunkBytes);
  const { bytes, stream } = await destination.read(key, range ?? undefined);
  if (bytes !== sizeBytes) {
    throw new ServiceError(
      'VERIFICATION_FAILED',
      'The backup has another length than was written.',
    );
  }
  const chunks = recoveryKey === null ? stream : decrypted(stream, recoveryKey);
  let hasBegun = false;
  for await (const chunk of chunks) {
    if (!hasBegun) outlet.begin();
    hasBegun = true;
    await outlet.room();
    outlet.write(chunk);
  }
  if (!hasBegun) outlet.begin();
}
