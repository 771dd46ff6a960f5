import { describe, it } from 'node:test';
import assert from 'node:assert/strict';
import { gzipSync } from 'node:zlib';
import fc from 'fast-check';
import type { ArchiveEntry } from '../../../src/archives/formats/entry.ts';
import type { ArchiveFormat } from '../../../src/archives/formats/format.ts';
import { asServiceError } from '../../../src/lib/errors.ts';
import { pax, tar, type TarEntry, zip, type ZipEntry } from '../../support/archives.ts';
import { inspect } from '../../support/inspect.ts';

const segment = fc.constantFrom('a', 'b', 'ü', '..', '.', 'long'.repeat(20), 'x y');
const name = fc.array(segment, { minLength: 1, maxLength: 4 }).map((parts) => parts.join('/'));
const data = fc.uint8Array({ maxLength: 2000 }).map((bytes) => Buffer.from(bytes));

const tarEntry: fc.Arbitrary<TarEntry> = fc.oneof(
  { weight: 6, arbitrary: fc.record({ name, data }) },
  { weight: 1, arbitrary: name.map((path) => ({ name: path, type: '5' })) },
  {
    weight: 1,
    arbitrary: fc.record({ name, linkName: name, type: fc.constantFrom('1', '2') }),
  },
  { weight: 1, arbitrary: name.map((path) => pax({ path })) },
);
const zipEntry: fc.Arbitrary<ZipEntry> = fc.record(
  {
    name,
    data,
    method: fc.constantFrom(0, 8),
    descriptor: fc.constantFrom('signed' as const, 'zip64' as const),
    mode: fc.constantFrom(0o100644, 0o100755, 0o120777),
  },
  { requiredKeys: ['name', 'data'] },
);

const archive: fc.Arbitrary<[ArchiveFormat, Buffer]> = fc.oneof(
  fc.array(tarEntry, { maxLength: 6 }).map((all): [ArchiveFormat, Buffer] => ['tar', tar(...all)]),
  fc
    .array(tarEntry, { maxLength: 6 })
    .map((all): [ArchiveFormat, Buffer] => ['tar.gz', gzipSync(tar(...all))]),
  fc.array(zipEntry, { maxLength: 6 }).map((all): [ArchiveFormat, Buffer] => ['zip', zip(all)]),
);

/** An archive, whole or with some bytes changed or missing. */
const hostile = fc
  .tuple(
    archive,
    fc.array(fc.tuple(fc.nat(), fc.nat(255)), { maxLength: 3 }),
    fc.option(fc.nat(), { nil: null }),
  )
  .map(([[format, bytes], changes, cut]): [ArchiveFormat, Buffer] => {
    const copy = Buffer.from(bytes);
    for (const [at, value] of changes) if (copy.length > 0) copy[at % copy.length] = value;
    return [format, cut === null ? copy : copy.subarray(0, cut % (copy.length + 1))];
  });

const refusal = /^ARCHIVE_[A-Z_]+$/;

const pieces = fc.array(fc.integer({ min: 1, max: 700 }), { minLength: 1, maxLength: 8 });

/** Everything that is told of an archive, in one text. */
async function told(
  format: ArchiveFormat,
  bytes: Buffer,
  split: readonly number[],
): Promise<string> {
  const lines: string[] = [];
  let content: Buffer[] = [];
  try {
    const result = await inspect(format, bytes, {
      pieces: split,
      visitor: {
        entry: (entry: ArchiveEntry) => lines.push(JSON.stringify(entry)),
        data: (part) => content.push(Buffer.from(part)),
        endFile: () => {
          lines.push(Buffer.concat(content).toString('base64'));
          content = [];
        },
        executable: (path) => lines.push(`x ${path}`),
        turnIntoSymlink: (path, target) => lines.push(`l ${path} ${target}`),
      },
    });
    return `${lines.join('\n')}\n${JSON.stringify(result)}`;
  } catch (error) {
    const { code } = asServiceError(error);
    if (code === 'INTERNAL') throw error;
    // How much of a broken entry was seen before may depend on the split; the verdict may not.
    return code;
  }
}

describe('an archive', () => {
  it('is judged and told the same, however it is split', async () => {
    await fc.assert(
      fc.asyncProperty(archive, pieces, async ([format, bytes], split) => {
        const whole = await told(format, bytes, [bytes.length]);
        assert.equal(await told(format, bytes, split), whole);
      }),
      { numRuns: 300 },
    );
  });

  it('that is damaged is refused or not, however it is split, and never a fault of ours', async () => {
    await fc.assert(
      fc.asyncProperty(hostile, pieces, async ([format, bytes], split) => {
        const whole = await told(format, bytes, [bytes.length]);
        const pieced = await told(format, bytes, split);
        // Of two faults in one archive, whichever is come upon first is told.
        if (refusal.test(whole)) assert.match(pieced, refusal);
        else assert.equal(pieced, whole);
      }),
      { numRuns: 500 },
    );
  });
});
