/** Inflates a .gz in one thread, into nothing, and prints the seconds it took, as JSON. */
import { createReadStream } from 'node:fs';
import { Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGunzip } from 'node:zlib';

const { file } = JSON.parse(process.argv[2] ?? '{}') as { file: string };
const startMs = performance.now();
await pipeline(
  createReadStream(file, { highWaterMark: 1 << 20 }),
  createGunzip({ chunkSize: 1 << 18 }),
  new Writable({
    write(_chunk, _encoding, done) {
      done();
    },
  }),
);
console.log(JSON.stringify({ seconds: (performance.now() - startMs) / 1000 }));
