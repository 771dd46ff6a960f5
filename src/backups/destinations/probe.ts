/** Owns the test of a destination: an object is written, read back, compared and removed. */
import { randomBytes } from 'node:crypto';
import { buffer } from 'node:stream/consumers';
import { ServiceError } from '../../lib/errors.ts';
import type { Destination } from './destination.ts';

/** One name for all tests, so that what a broken one left goes with the next. */
export const probeKey = 'gangway-test';
const probeBytes = 4096;
/** For the removal of what cannot be read back, by a destination that may be silent. */
const cleanUpMs = 5_000;

/** Rejects with what keeps the destination from being used. */
export async function testDestination(
  destination: Destination,
  signal: AbortSignal,
): Promise<void> {
  const written = randomBytes(probeBytes);
  const writer = await destination.open(probeKey, signal);
  await writer.write(written).catch(async (error: unknown) => {
    await writer.abort().catch(() => undefined);
    throw error;
  });
  // It leaves nothing where it rejects.
  await writer.finish();
  await mustHold(destination, written, signal).catch(async (error: unknown) => {
    await destination.remove(probeKey, AbortSignal.timeout(cleanUpMs)).catch(() => undefined);
    throw error;
  });
  await destination.remove(probeKey, signal);
}

async function mustHold(
  destination: Destination,
  written: Buffer,
  signal: AbortSignal,
): Promise<void> {
  const { stream } = await destination.read(probeKey, undefined, signal);
  const found = await buffer(stream);
  if (found.equals(written)) return;
  throw new ServiceError('DESTINATION_FAILED', 'What was read back is not what was written.');
}
