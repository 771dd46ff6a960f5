/** Owns reading an artifact back from a folder of the machine in a thread. */
import type { ServerPlace } from '../destinations/destination.ts';
import type { Artifact, Transport } from '../runs/artifact.ts';
import { untilAborted } from '../streams/until-aborted.ts';
import { BackupThread } from './backup-thread.ts';

/** See `verifyArtifact`. */
export async function verifyInThread(
  artifact: Artifact,
  place: ServerPlace,
  { key, signal, progress }: Omit<Transport, 'destination'>,
): Promise<void> {
  let read = 0;
  const thread = new BackupThread({ kind: 'verify', place, key, artifact }, signal, (reply) => {
    if (reply.type === 'read') progress((read += reply.bytes));
  });
  // Its disk may not answer.
  await untilAborted(thread.outcome, signal);
}
