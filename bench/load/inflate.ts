/**
 * Inflates an archive in one thread, into nothing, and prints the seconds it took, as JSON. A zip is one
 * whose local headers tell the sizes.
 */
import { createReadStream, readFileSync } from 'node:fs';
import { Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGunzip, inflateRawSync } from 'node:zlib';

const { file } = JSON.parse(process.argv[2] ?? '{}') as { file: string };
const startMs = performance.now();
if (file.endsWith('.zip')) inflateZip();
else await inflateGzip();
console.log(JSON.stringify({ seconds: (performance.now() - startMs) / 1000 }));

async function inflateGzip(): Promise<void> {
  await pipeline(
    createReadStream(file, { highWaterMark: 1 << 20 }),
    createGunzip({ chunkSize: 1 << 18 }),
    new Writable({
      write(_chunk, _encoding, done) {
        done();
      },
    }),
  );
}

function inflateZip(): void {
  const bytes = readFileSync(file);
  let at = 0;
  while (bytes.readUInt32LE(at) === 0x04034b50) {
    const start = at + 30 + bytes.readUInt16LE(at + 26) + bytes.readUInt16LE(at + 28);
    const end = start + bytes.readUInt32LE(at + 18);
    const content = inflateRawSync(bytes.subarray(start, end));
    if (content.length !== bytes.readUInt32LE(at + 22)) throw new Error('an entry is not whole');
    at = end;
  }
}
