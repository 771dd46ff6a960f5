/** Owns the test of a destination: an object is written, read back, compared and removed. */
import { randomBytes } from 'node:crypto';
import { buffer } from 'node:stream/consumers';
import { ServiceError } from '../../lib/errors.ts';
import type { Destination } from './destination.ts';

/** One name for all tests, so that what a broken one left goes with the next. */
export const probeKey = 'gangway-test';
const probeBytes = 4096;

/** Rejects with what keeps the destination from being used. */
export async function testDestination(
  destination: Destination,
  signal: AbortSignal,
): Promise<void> {
  const written = randomBytes(probeBytes);
  const writer = await destination.open(probeKey, signal);
  try {
    await writer.write(written);
    await writer.finish();
  } catch (error) {
    await writer.abort().catch(() => undefined);
    throw error;
  }
  await mustHold(destination, written, signal).catch(async (error: unknown) => {
    await destination.remove(probeKey, signal).catch(() => undefined);
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
