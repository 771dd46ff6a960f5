import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type ZipEntry, zip } from '../../../support/archives.ts';
import { inspect, verdict } from '../../../support/inspect.ts';

const file: ZipEntry = { name: 'a.txt', data: 'hello '.repeat(50) };
const link = (name: string, target: string): ZipEntry => ({ name, data: target, mode: 0o120777 });

const accepted: [string, Buffer][] = [
  ['a deflated file', zip([file])],
  ['a stored file', zip([{ ...file, method: 0 }])],
  [
    'folders',
    zip([
      { name: 'd/', mode: 0o040755 },
      { name: 'd/x', data: 'y' },
    ]),
  ],
  ['a deflated file of no bytes', zip([{ name: 'a', method: 8, data: '' }])],
  ['a comment', zip([file], { comment: 'from a build' })],
  ['zip64 sizes and end records', zip([{ ...file, zip64: true }], { zip64: true })],
  ['a directory in another order', zip([file, { name: 'b', data: 'x' }], { reverse: true })],
  ['an extra field', zip([{ ...file, extra: Buffer.from('UT\x05\x00\x01aaaa', 'latin1') }])],
  ['a link to a file beside it', zip([file, link('l', 'a.txt')])],
  ['a name of code page 437', zip([{ ...file, name: Buffer.from('81', 'hex') }])],
  ['modes of no type', zip([{ ...file, mode: 0 }])],
  [
    'a stored file that holds a zip, of unknown length',
    zip([
      {
        name: 'in.zip',
        method: 0,
        descriptor: 'signed',
        data: zip([{ ...file, descriptor: 'signed' }]),
      },
    ]),
  ],
  ...(['signed', 'bare', 'zip64'] as const).map((descriptor): [string, Buffer] => [
    `a descriptor (${descriptor})`,
    zip([
      { ...file, descriptor },
      { name: 'b', data: 'x' },
    ]),
  ]),
];

const refused: [string, string, Buffer][] = [
  ['nothing at all', 'ARCHIVE_EMPTY', Buffer.alloc(0)],
  ['no entries', 'ARCHIVE_EMPTY', zip([])],
  ['only folders', 'ARCHIVE_EMPTY', zip([{ name: 'd/', mode: 0o040755 }])],
  ['text', 'ARCHIVE_TYPE_MISMATCH', Buffer.from('hello world, no zip')],
  ['a program in front', 'ARCHIVE_TYPE_MISMATCH', zip([file], { before: Buffer.from('MZ....') })],
  ['data cut off', 'ARCHIVE_CORRUPT', zip([file]).subarray(0, 50)],
  ['the directory cut off', 'ARCHIVE_CORRUPT', zip([file]).subarray(0, -40)],
  ['the end cut off', 'ARCHIVE_CORRUPT', zip([file]).subarray(0, -5)],
  ['a comment cut off', 'ARCHIVE_CORRUPT', zip([file], { comment: 'hello' }).subarray(0, -1)],
  ['something behind the end', 'ARCHIVE_CORRUPT', zip([file], { after: Buffer.from('x') })],
  ['a second zip behind the end', 'ARCHIVE_CORRUPT', zip([file], { after: zip([file]) })],
  [
    'something between entries',
    'ARCHIVE_CORRUPT',
    zip([file, { ...file, name: 'b' }], { between: Buffer.from('gap!') }),
  ],
  [
    'an entry the directory leaves out',
    'ARCHIVE_CORRUPT',
    zip([file, { ...file, name: 'b' }], { omit: [1] }),
  ],
  ['an entry listed twice', 'ARCHIVE_CORRUPT', zip([file], { repeat: [0] })],
  ['a name that comes twice', 'ARCHIVE_CORRUPT', zip([file, file])],
  ['two spellings of a name', 'ARCHIVE_CORRUPT', zip([file, { ...file, name: './/a.txt' }])],
  [
    'overlapping entries',
    'ARCHIVE_CORRUPT',
    zip([file, { ...file, name: 'b', central: { offset: 0 } }]),
  ],
  ['two names for an entry', 'ARCHIVE_CORRUPT', zip([{ ...file, central: { name: 'b.txt' } }])],
  ['two sizes for an entry', 'ARCHIVE_CORRUPT', zip([{ ...file, central: { size: 1 } }])],
  ['two methods for an entry', 'ARCHIVE_CORRUPT', zip([{ ...file, central: { method: 0 } }])],
  ['a wrong CRC', 'ARCHIVE_CORRUPT', zip([{ ...file, local: { crc: 1 }, central: { crc: 1 } }])],
  [
    'a size too small',
    'ARCHIVE_CORRUPT',
    zip([{ ...file, local: { size: 9 }, central: { size: 9 } }]),
  ],
  [
    'a size too large',
    'ARCHIVE_CORRUPT',
    zip([{ ...file, local: { size: 999 }, central: { size: 999 } }]),
  ],
  [
    'a packed size too large',
    'ARCHIVE_CORRUPT',
    zip([{ ...file, local: { packed: 50 }, central: { packed: 50 } }]),
  ],
  ['broken data', 'ARCHIVE_CORRUPT', zip([{ ...file, packed: Buffer.alloc(40, 0xff) }])],
  [
    'deflated data that ends early',
    'ARCHIVE_CORRUPT',
    zip([{ name: 'a', data: '', method: 8, packed: Buffer.from([3, 0, 1, 2, 3]) }]),
  ],
  ['a wrong number of entries', 'ARCHIVE_CORRUPT', zip([file], { entries: 2 })],
  ['a wrong place of the directory', 'ARCHIVE_CORRUPT', zip([file], { directoryOffset: 1 })],
  ['an unknown method', 'ARCHIVE_CORRUPT', zip([{ ...file, method: 12 }])],
  ['a folder with data', 'ARCHIVE_CORRUPT', zip([{ name: 'd/', data: 'x' }])],
  ['a folder that is a file', 'ARCHIVE_CORRUPT', zip([{ ...file, mode: 0o040755 }])],
  ['a file below a file', 'ARCHIVE_CORRUPT', zip([file, { name: 'a.txt/b', data: 'x' }])],
  ['an empty name', 'ARCHIVE_CORRUPT', zip([{ name: '' }])],
  ['encryption', 'ARCHIVE_ENCRYPTED', zip([{ ...file, flags: 1 }])],
  ['strong encryption', 'ARCHIVE_ENCRYPTED', zip([{ ...file, flags: 0x41 }])],
  ['AES', 'ARCHIVE_ENCRYPTED', zip([{ ...file, method: 99 }])],
  [
    'encryption the directory tells',
    'ARCHIVE_ENCRYPTED',
    zip([{ ...file, central: { flags: 1 } }]),
  ],
  ['an absolute name', 'ARCHIVE_UNSAFE_ENTRY', zip([{ ...file, name: '/a' }])],
  ['..', 'ARCHIVE_UNSAFE_ENTRY', zip([{ ...file, name: 'a/../../b' }])],
  ['a backslash', 'ARCHIVE_UNSAFE_ENTRY', zip([{ ...file, name: 'a\\b' }])],
  ['a drive letter', 'ARCHIVE_UNSAFE_ENTRY', zip([{ ...file, name: 'c:/b' }])],
  ['a NUL', 'ARCHIVE_UNSAFE_ENTRY', zip([{ ...file, name: 'a\0b' }])],
  ['a link above the root', 'ARCHIVE_UNSAFE_ENTRY', zip([file, link('l', '../x')])],
  ['a link to an absolute path', 'ARCHIVE_UNSAFE_ENTRY', zip([file, link('l', '/etc/passwd')])],
  [
    'a stored link above the root',
    'ARCHIVE_UNSAFE_ENTRY',
    zip([{ ...link('l', '../x'), method: 0 }]),
  ],
  [
    'a link out through another',
    'ARCHIVE_UNSAFE_ENTRY',
    zip([link('x', 'd/e/u/../..'), link('d/e/u', '../..')]),
  ],
  ['a link of 5,000 bytes', 'ARCHIVE_UNSAFE_ENTRY', zip([link('l', 'a'.repeat(5000))])],
  ['a device', 'ARCHIVE_UNSAFE_ENTRY', zip([{ ...file, mode: 0o020666 }])],
  ['a FIFO', 'ARCHIVE_UNSAFE_ENTRY', zip([{ ...file, mode: 0o010666 }])],
];

describe('a zip', () => {
  for (const [title, bytes] of accepted) {
    it(`is accepted with ${title}`, async () => {
      for (const pieces of [[1], [17], [100_000]]) {
        assert.equal(await verdict('zip', bytes, { pieces }), 'ok');
      }
    });
  }
  for (const [title, code, bytes] of refused) {
    it(`is refused as ${code}: ${title}`, async () => {
      for (const pieces of [[1], [17], [100_000]]) {
        assert.equal(await verdict('zip', bytes, { pieces }), code);
      }
    });
  }

  it('is refused as ARCHIVE_BOMB when it expands beyond the bound or the ratio', async () => {
    const zeros = zip([{ name: 'zeros', data: Buffer.alloc(3_000_000) }]);
    assert.equal(await verdict('zip', zeros), 'ok');
    const limits = { ratioFreeBytes: 1_000_000 };
    assert.equal(await verdict('zip', zeros, { limits }), 'ARCHIVE_BOMB');
    const bound = { expandedBytesMax: 2_000_000 };
    assert.equal(await verdict('zip', zeros, { limits: bound }), 'ARCHIVE_BOMB');
    const many = zip([file, { ...file, name: 'b' }]);
    assert.equal(await verdict('zip', many, { limits: { entriesMax: 1 } }), 'ARCHIVE_BOMB');
  });

  it('is told to its visitor with the modes and links of its directory', async () => {
    const seen: string[] = [];
    const entries = [{ ...file, mode: 0o100755 }, link('l', 'a.txt')];
    await inspect('zip', zip(entries), {
      visitor: {
        entry: (entry) => seen.push(`${entry.kind} ${entry.path}`),
        executable: (path) => seen.push(`executable ${path}`),
        turnIntoSymlink: (path, target) => seen.push(`link ${path} ${target}`),
      },
    });
    assert.deepEqual(seen, ['file a.txt', 'file l', 'executable a.txt', 'link l a.txt']);
  });
});
