/** Owns reading an artifact back in a thread. */
import type { PlaceInThread } from '../destinations/open.ts';
import type { Artifact, Transport } from '../runs/artifact.ts';
import { untilAborted } from '../streams/until-aborted.ts';
import { BackupThread } from './backup-thread.ts';

/** See `verifyArtifact`. */
export async function verifyInThread(
  artifact: Artifact,
  at: PlaceInThread,
  { key, signal, progress }: Omit<Transport, 'destination'>,
): Promise<void> {
  let read = 0;
  const thread = new BackupThread({ kind: 'verify', at, key, artifact }, signal, (reply) => {
    if (reply.type === 'read') progress((read += reply.bytes));
  });
  // Its disk, or its bucket, may not answer.
  await untilAborted(thread.outcome, signal);
}
