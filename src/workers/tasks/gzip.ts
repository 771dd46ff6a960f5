/** The entry point of the threads that compress backups: one runs until it is sent null. */
import { constants, setPriority } from 'node:os';
import { parentPort } from 'node:worker_threads';
import { type Block, deflateBlock } from '../../backups/streams/gzip-block.ts';

// It takes what others leave. Only on Linux does the priority apply to the calling thread alone.
if (process.platform === 'linux') setPriority(constants.priority.PRIORITY_LOW);

parentPort?.on('message', (block: Block | null) => {
  if (block === null) {
    parentPort?.close();
    return;
  }
  const packed = deflateBlock(block);
  parentPort?.postMessage(packed, [packed.buffer]);
});
