/** The entry point of the thread that sends artifacts of backups until its port closes. */
import { setPriority } from 'node:os';
import type { SendArtifact, SendArtifactsTask } from '../../backups/sending/artifact-messages.ts';
import { sendArtifact } from '../../backups/sending/send-artifact.ts';

// A `nice` value: where threads compete, those that serve come first.
const yieldingPriority = 5;

export async function send({ port }: SendArtifactsTask): Promise<void> {
  // Only on Linux does the priority apply to the calling thread alone.
  if (process.platform === 'linux') setPriority(yieldingPriority);
  port.on('message', (request: SendArtifact) => void sendArtifact(request));
  await new Promise<void>((resolve) => port.on('close', resolve));
}
