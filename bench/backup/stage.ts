/**
 * Sends a file through one stage of a backup, into nothing, and prints what it took as JSON: seconds, bytes
 * that came out, and by how many the memory of the process grew.
 */
import { createReadStream } from 'node:fs';
import { pathToFileURL } from 'node:url';
import { isMainThread, Worker } from 'node:worker_threads';
import type * as opening from '../../src/backups/streams/age/decrypted.ts';
import type * as sealing from '../../src/backups/streams/age/encrypted.ts';
import type * as pools from '../../src/backups/streams/gzip-pool.ts';
import type * as handing from '../../src/backups/streams/chunks.ts';
import type * as packing from '../../src/backups/streams/gzipped.ts';
import type * as clocks from '../../src/lib/clock.ts';

export type Stage = 'gzip' | 'encrypt' | 'decrypt';

export interface StageArgs {
  stage: Stage;
  file: string;
  /** How often the file is read, one after the other. */
  times: number;
  /** Of `encrypt`. */
  recipient?: string;
  /** Of `decrypt`. */
  recoveryKey?: string;
}

export interface StageResult {
  seconds: number;
  bytes: number;
  grownBytes: number;
}

type Stream = AsyncIterable<Uint8Array>;

const lost = (cause: unknown): never => {
  throw cause;
};
const { root, ...args } = JSON.parse(process.argv[2] ?? '{}') as StageArgs & { root: string };

async function module<T>(file: string): Promise<T> {
  return (await import(pathToFileURL(`${root}/${file}`).href)) as T;
}

/** Pieces as large as what comes out of a pipe ahead of gzip, and out of gzip ahead of age. */
async function* source(): Stream {
  const highWaterMark = args.stage === 'gzip' ? 64 * 1024 : 256 * 1024;
  for (let i = 0; i < args.times; i++)
    yield* createReadStream(args.file, { highWaterMark }) as Stream;
}

/** The chunks are freed as whoever takes them in a backup does. */
async function measure(stream: Stream): Promise<StageResult> {
  const { takenFrom } = await module<typeof handing>('src/backups/streams/chunks.ts');
  const beforeBytes = process.memoryUsage.rss();
  const startMs = performance.now();
  let bytes = 0;
  let peakBytes = beforeBytes;
  let chunks = 0;
  for await (const chunk of takenFrom(stream)) {
    bytes += chunk.length;
    if (chunks++ % 16 === 0) peakBytes = Math.max(peakBytes, process.memoryUsage.rss());
  }
  const seconds = (performance.now() - startMs) / 1000;
  return { seconds, bytes, grownBytes: peakBytes - beforeBytes };
}

async function run(): Promise<StageResult> {
  const { recipient = '', recoveryKey = '' } = args;
  switch (args.stage) {
    case 'gzip': {
      const { GzipPool } = await module<typeof pools>('src/backups/streams/gzip-pool.ts');
      const { gzipped } = await module<typeof packing>('src/backups/streams/gzipped.ts');
      const { systemClock } = await module<typeof clocks>('src/lib/clock.ts');
      const pool = new GzipPool({ clock: systemClock, lost });
      const result = await measure(gzipped(source(), pool));
      await pool.close();
      return result;
    }
    case 'encrypt': {
      const { encrypted } = await module<typeof sealing>('src/backups/streams/age/encrypted.ts');
      return await measure(encrypted(source(), [recipient]));
    }
    case 'decrypt': {
      const { decrypted } = await module<typeof opening>('src/backups/streams/age/decrypted.ts');
      return await measure(decrypted(source(), recoveryKey));
    }
  }
}

if (isMainThread) {
  // The heap of the thread in which backups are packed, see `packing/packer.ts`.
  const resourceLimits = { maxYoungGenerationSizeMb: 4 };
  new Worker(new URL(import.meta.url), { argv: process.argv.slice(2), resourceLimits });
} else {
  console.log(JSON.stringify(await run()));
}
