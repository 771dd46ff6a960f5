/** The entry point of the thread that sends artifacts of backups: it runs until its port closes. */
import { setPriority } from 'node:os';
import { type MessagePort, workerData } from 'node:worker_threads';
import type { SendArtifact } from '../../backups/sending/artifact-messages.ts';
import { ReadBuffers } from '../../backups/sending/read-buffers.ts';
import { sendArtifact } from '../../backups/sending/send-artifact.ts';

// A `nice` value: where threads compete, those that serve come first.
const yieldingPriority = 5;

// Only on Linux does the priority apply to the calling thread alone.
if (process.platform === 'linux') setPriority(yieldingPriority);

const buffers = new ReadBuffers();
const port = workerData as MessagePort;
port.on('message', (request: SendArtifact) => void sendArtifact(request, buffers));
