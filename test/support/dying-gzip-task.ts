/** The task of the threads that compress backups, on a thread that ends at a block that begins with "die". */
import { parentPort } from 'node:worker_threads';
import { type Block, primerMax } from '../../src/backups/streams/gzip-block.ts';

parentPort?.on('message', ({ memory }: Block) => {
  if (Buffer.from(memory, primerMax, 3).toString() === 'die') process.exit(9);
});
// Behind the listener above, so that this one hears of a block first.
await import('../../src/workers/tasks/gzip.ts');
