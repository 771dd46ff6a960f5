import assert from 'node:assert/strict';
import { it } from 'node:test';
import fc from 'fast-check';
import { Zip, ZipDeflate, ZipPassThrough, unzipSync, zipSync } from 'fflate';
import { inspect, verdict } from '../../support/inspect.ts';

const name = fc.stringMatching(/^[a-z0-9äß_-]{1,12}(\/[a-z0-9_-]{1,12}){0,2}\.txt$/);
const files = fc
  .uniqueArray(fc.tuple(name, fc.uint8Array({ maxLength: 5000 })), {
    minLength: 1,
    maxLength: 12,
    selector: ([path]) => path,
  })
  .map((entries) => Object.fromEntries(entries));

/** Written as a stream: sizes and checksums stand behind each entry, in data descriptors. */
function streamed(entries: Readonly<Record<string, Uint8Array>>, level: 0 | 6): Buffer {
  const chunks: Uint8Array[] = [];
  const zip = new Zip((error, chunk) => {
    if (error) throw error;
    chunks.push(chunk);
  });
  for (const [path, bytes] of Object.entries(entries)) {
    const entry = level === 0 ? new ZipPassThrough(path) : new ZipDeflate(path, { level });
    zip.add(entry);
    entry.push(bytes, true);
  }
  zip.end();
  return Buffer.concat(chunks);
}

it('zips that fflate writes are taken, whole or streamed, with the files it reads from them', async () => {
  await fc.assert(
    fc.asyncProperty(
      files,
      fc.constantFrom<0 | 6>(0, 6),
      fc.boolean(),
      async (entries, level, whole) => {
        const bytes = whole ? Buffer.from(zipSync(entries, { level })) : streamed(entries, level);
        const inspected = await inspect('zip', bytes);
        const paths = Object.keys(unzipSync(bytes));
        const folders = paths.flatMap((path) =>
          path
            .split('/')
            .slice(0, -1)
            .map((_, i, parts) => parts.slice(0, i + 1).join('/')),
        );
        assert.equal(inspected.entries, paths.length + new Set(folders).size);
      },
    ),
    { numRuns: 150 },
  );
});

it('zips that fflate writes and that lose or change a byte are refused', async () => {
  await fc.assert(
    fc.asyncProperty(
      files,
      fc.nat(),
      fc.integer({ min: 1, max: 255 }),
      async (entries, at, flip) => {
        const bytes = Buffer.from(zipSync(entries, { level: 6 }));
        const whole = verdict('zip', bytes.subarray(0, at % bytes.length));
        assert.notEqual(await whole, 'ok');
        // Only the times of entries may be any value.
        const place = bytes.length - 1 - (at % 22);
        const changed = Buffer.from(bytes);
        changed[place] = (changed[place] ?? 0) ^ flip;
        assert.notEqual(await verdict('zip', changed), 'ok');
      },
    ),
    { numRuns: 150 },
  );
});
