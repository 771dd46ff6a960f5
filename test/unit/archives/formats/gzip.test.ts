import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { gzipSync } from 'node:zlib';
import { tar } from '../../../support/archives.ts';
import { verdict } from '../../../support/inspect.ts';

const whole = tar({ name: 'a.txt', data: 'hello '.repeat(1000) });
const packed = gzipSync(whole);

function damaged(at: number): Buffer {
  const bytes = Buffer.from(packed);
  bytes[at < 0 ? bytes.length + at : at]! ^= 0x55;
  return bytes;
}

/** A gzip with every optional field of the header. */
function dressed(): Buffer {
  const head = Buffer.from(packed.subarray(0, 10));
  head[3] = 4 | 8 | 16;
  const fields = Buffer.from('\x03\x00abcname.tar\0a comment\0', 'latin1');
  return Buffer.concat([head, fields, packed.subarray(10)]);
}

describe('a gzip', () => {
  const accepted: [string, Buffer][] = [
    ['one member', packed],
    [
      'several members',
      Buffer.concat([gzipSync(whole.subarray(0, 700)), gzipSync(whole.subarray(700))]),
    ],
    ['an empty member', Buffer.concat([packed, gzipSync(Buffer.alloc(0))])],
    ['many members', Buffer.concat([...Array<Buffer>(500).fill(gzipSync('')), packed])],
    ['zeros behind the last member', Buffer.concat([packed, Buffer.alloc(1000)])],
    ['extra field, name and comment', dressed()],
    ['no compression', gzipSync(whole, { level: 0 })],
  ];
  for (const [title, bytes] of accepted) {
    it(`is accepted with ${title}`, async () => {
      for (const pieces of [[1], [10], [100_000]]) {
        assert.equal(await verdict('tar.gz', bytes, { pieces }), 'ok');
      }
    });
  }

  const refused: [string, string, Buffer][] = [
    ['nothing at all', 'ARCHIVE_EMPTY', Buffer.alloc(0)],
    ['a plain tar', 'ARCHIVE_TYPE_MISMATCH', whole],
    ['a gzip of nothing', 'ARCHIVE_EMPTY', gzipSync(Buffer.alloc(0))],
    ['a gzip of text', 'ARCHIVE_CORRUPT', gzipSync('hello')],
    ['a header cut off', 'ARCHIVE_CORRUPT', packed.subarray(0, 7)],
    ['data cut off', 'ARCHIVE_CORRUPT', packed.subarray(0, -20)],
    ['a trailer cut off', 'ARCHIVE_CORRUPT', packed.subarray(0, -3)],
    ['a trailer missing', 'ARCHIVE_CORRUPT', packed.subarray(0, -8)],
    ['a wrong CRC', 'ARCHIVE_CORRUPT', damaged(-8)],
    ['a wrong length', 'ARCHIVE_CORRUPT', damaged(-1)],
    ['an unknown method', 'ARCHIVE_CORRUPT', damaged(2)],
    [
      'reserved flags',
      'ARCHIVE_CORRUPT',
      Buffer.concat([packed.subarray(0, 3), Buffer.from([0x80]), packed.subarray(4)]),
    ],
    [
      'broken data',
      'ARCHIVE_CORRUPT',
      Buffer.concat([packed.subarray(0, 10), Buffer.alloc(50, 0xff)]),
    ],
    ['garbage behind it', 'ARCHIVE_CORRUPT', Buffer.concat([packed, Buffer.from('garbage')])],
    [
      'garbage behind zeros',
      'ARCHIVE_CORRUPT',
      Buffer.concat([packed, Buffer.alloc(9), Buffer.from('x')]),
    ],
  ];
  for (const [title, code, bytes] of refused) {
    it(`is refused as ${code}: ${title}`, async () => {
      for (const pieces of [[1], [10], [100_000]]) {
        assert.equal(await verdict('tar.gz', bytes, { pieces }), code);
      }
    });
  }

  it('is refused as ARCHIVE_BOMB when it expands beyond the bound or the ratio', async () => {
    const zeros = gzipSync(tar({ name: 'zeros', data: Buffer.alloc(3_000_000) }));
    const limits = { ratioFreeBytes: 1_000_000 };
    assert.equal(await verdict('tar.gz', zeros), 'ok');
    assert.equal(await verdict('tar.gz', zeros, { limits }), 'ARCHIVE_BOMB');
    const bound = { expandedBytesMax: 2_000_000 };
    assert.equal(await verdict('tar.gz', zeros, { limits: bound }), 'ARCHIVE_BOMB');
  });
});
