/** The entry point of the thread that packs backups: it runs until it is sent null. */
import { setPriority } from 'node:os';
import { parentPort } from 'node:worker_threads';
import type { GzipThreadLost, PackRun } from '../../backups/packing/messages.ts';
import { packRun } from '../../backups/packing/pack-run.ts';
import { GzipPool } from '../../backups/streams/gzip-pool.ts';
import { systemClock } from '../../lib/clock.ts';

// A `nice` value: it feeds those that compress, and comes behind those that serve. Only on Linux does it apply to
// the calling thread alone.
if (process.platform === 'linux') setPriority(5);

const pool = new GzipPool({
  clock: systemClock,
  lost: (cause) => parentPort?.postMessage({ cause: String(cause) } satisfies GzipThreadLost),
});

parentPort?.on('message', (run: PackRun | null) => {
  if (run !== null) void packRun(run, pool);
  else void pool.close().then(() => parentPort?.close());
});
