/** The entry point of a thread that reads a tree: it runs until its port closes. */
import { constants, setPriority } from 'node:os';
import { type MessagePort, workerData } from 'node:worker_threads';
import { sendTree } from '../../backups/tar/send-tree.ts';
import type { SendTree } from '../../backups/tar/tree-messages.ts';
import { callInThisThread } from '../../lib/untrusted-files/calls.ts';

// It takes what others leave. Only on Linux does the priority apply to the calling thread alone.
if (process.platform === 'linux') setPriority(constants.priority.PRIORITY_LOW);
callInThisThread();

const port = workerData as MessagePort;
port.on('message', (request: SendTree) => void sendTree(request));
