import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { gzipSync } from 'node:zlib';
import type { ArchiveEntry } from '../../../../src/archives/formats/entry.ts';
import { pax, type TarEntry, tar, tarEnd, tarEntry } from '../../../support/archives.ts';
import { inspect, verdict } from '../../../support/inspect.ts';

const file: TarEntry = { name: 'a.txt', data: 'hello' };
const link = (name: string, target: string): TarEntry => ({ name, type: '2', linkName: target });
const hard = (name: string, target: string): TarEntry => ({ name, type: '1', linkName: target });
const longLink = (name: string, type = 'L'): TarEntry => ({
  name: '././@LongLink',
  type,
  data: `${name}\0`,
  magic: 'gnu',
});

const accepted: [string, Buffer][] = [
  ['a file', tar(file)],
  ['a folder and a file in it', tar({ name: 'd/', type: '5' }, { name: 'd/x' })],
  ['a file whose folder has no entry', tar({ name: 'a/b/c/d', data: 'x' })],
  ['the root folder as an entry', tar({ name: './', type: '5' }, { name: './a' })],
  ['an old header without magic', tar({ ...file, magic: 'v7' })],
  ['a name in two parts', tar({ name: 'b', prefix: 'a' })],
  ['a size in base 256', tar({ ...file, size: 'base256' })],
  ['a signed checksum', signedChecksum()],
  ['a pax path', tar(pax({ path: 'p/q' }), file)],
  ['a pax size', tar(pax({ size: '5' }), { ...file, size: 5 })],
  ['a pax header of attributes', tar(pax({ mtime: '1.5', 'SCHILY.xattr.user.x': 'y\n=z' }), file)],
  ['the global header of git archive', tar(pax({ comment: 'a'.repeat(40) }, 'g'), file)],
  ['a GNU long name', tar(longLink(`d/${'n'.repeat(200)}`), file)],
  ['a GNU long link target', tar(file, longLink('./'.repeat(100) + 'a.txt', 'K'), link('l', 'x'))],
  ['a link to a sibling', tar(file, link('b', 'a.txt'))],
  ['a link up and back in', tar(link('d/e/l', '../../a.txt'), file)],
  ['a link to nothing there', tar(file, link('b', 'gone/away'))],
  ['links in a circle', tar(file, link('a', 'b'), link('b', 'a'))],
  ['a hard link to an earlier file', tar(file, hard('b', './a.txt'))],
  ['a file that comes twice', tar(file, file)],
  ['a volume label', tar({ name: 'backup', type: 'V' }, file)],
  ['no zero blocks at the end', tarEntry(file)],
  ['one zero block at the end', Buffer.concat([tarEntry(file), tarEnd.subarray(512)])],
  ['a record of zeros at the end', Buffer.concat([tar(file), Buffer.alloc(10_240 + 100)])],
  ['dots within names', tar({ name: 'a..b/...c', data: 'x' })],
];

const refused: [string, string, Buffer][] = [
  ['nothing at all', 'ARCHIVE_EMPTY', Buffer.alloc(0)],
  ['only zero blocks', 'ARCHIVE_EMPTY', tarEnd],
  ['only folders', 'ARCHIVE_EMPTY', tar({ name: 'd/', type: '5' })],
  ['a gzip named .tar', 'ARCHIVE_TYPE_MISMATCH', gzipSync(tar(file))],
  ['text named .tar', 'ARCHIVE_TYPE_MISMATCH', Buffer.alloc(2048, 'hello world\n')],
  ['a few bytes of text', 'ARCHIVE_TYPE_MISMATCH', Buffer.from('hello')],
  ['a wrong checksum at first', 'ARCHIVE_CORRUPT', tar({ ...file, checksumOff: 1 })],
  [
    'a wrong checksum later',
    'ARCHIVE_CORRUPT',
    tar(file, { ...file, magic: 'v7', checksumOff: 1 }),
  ],
  ['data cut off', 'ARCHIVE_CORRUPT', tar({ name: 'a', data: 'x'.repeat(2000) }).subarray(0, 1500)],
  ['padding cut off', 'ARCHIVE_CORRUPT', tar(file).subarray(0, 700)],
  [
    'a header cut off',
    'ARCHIVE_CORRUPT',
    Buffer.concat([tarEntry(file), tarEntry(file).subarray(0, 300)]),
  ],
  ['something behind the end', 'ARCHIVE_CORRUPT', Buffer.concat([tar(file), tarEntry(file)])],
  [
    'an entry behind a lone zero block',
    'ARCHIVE_CORRUPT',
    Buffer.concat([tarEntry(file), tarEnd.subarray(512), tarEntry(file)]),
  ],
  [
    'a malformed size',
    'ARCHIVE_CORRUPT',
    tar({ ...file, size: Number('0xfffffff') }).fill('9', 124, 130),
  ],
  ['an unknown type', 'ARCHIVE_CORRUPT', tar({ ...file, type: 'Z' })],
  ['a sparse file of GNU', 'ARCHIVE_CORRUPT', tar({ ...file, type: 'S' })],
  ['a sparse file of pax', 'ARCHIVE_CORRUPT', tar(pax({ 'GNU.sparse.major': '1' }), file)],
  ['a folder with data', 'ARCHIVE_CORRUPT', tar({ name: 'd/', type: '5', data: 'x' })],
  ['a file with a slash and data', 'ARCHIVE_CORRUPT', tar({ name: 'd/', data: 'x' })],
  ['a symlink with data', 'ARCHIVE_CORRUPT', tar({ ...link('a', 'b'), data: 'x' })],
  [
    'a pax header with a wrong length',
    'ARCHIVE_CORRUPT',
    tar({ name: 'p', type: 'x', data: '99 path=a\n' }, file),
  ],
  [
    'a pax header without newline',
    'ARCHIVE_CORRUPT',
    tar({ name: 'p', type: 'x', data: '9 path=ab' }, file),
  ],
  ['a pax size that is no number', 'ARCHIVE_CORRUPT', tar(pax({ size: '-5' }), file)],
  [
    'two pax headers for one entry',
    'ARCHIVE_CORRUPT',
    tar(pax({ path: 'a' }), pax({ path: 'b' }), file),
  ],
  ['two long names for one entry', 'ARCHIVE_CORRUPT', tar(longLink('a'), longLink('b'), file)],
  ['a long name and a pax path', 'ARCHIVE_CORRUPT', tar(pax({ path: 'a' }), longLink('b'), file)],
  ['a pax header without entry', 'ARCHIVE_CORRUPT', tar(file, pax({ path: 'a' }))],
  ['a file without name', 'ARCHIVE_CORRUPT', tar({ name: '' })],
  ['a file that is the root', 'ARCHIVE_CORRUPT', tar({ name: '.' })],
  ['a hard link to nothing', 'ARCHIVE_CORRUPT', tar(file, hard('b', 'c'))],
  ['a hard link to a folder', 'ARCHIVE_CORRUPT', tar({ name: 'd/', type: '5' }, hard('b', 'd'))],
  ['a file below a file', 'ARCHIVE_CORRUPT', tar(file, { name: 'a.txt/b' })],
  ['a file where a folder is', 'ARCHIVE_CORRUPT', tar({ name: 'd/x' }, { name: 'd' })],
  ['a link where a file is', 'ARCHIVE_CORRUPT', tar(file, link('a.txt', 'b'))],
  ['an absolute name', 'ARCHIVE_UNSAFE_ENTRY', tar({ name: '/etc/passwd' })],
  ['..', 'ARCHIVE_UNSAFE_ENTRY', tar({ name: '..' })],
  ['.. in front', 'ARCHIVE_UNSAFE_ENTRY', tar({ name: '../a' })],
  ['.. in the middle', 'ARCHIVE_UNSAFE_ENTRY', tar({ name: 'a/../b' })],
  ['.. at the end', 'ARCHIVE_UNSAFE_ENTRY', tar({ name: 'a/..', type: '5' })],
  ['.. by a prefix', 'ARCHIVE_UNSAFE_ENTRY', tar({ name: 'b', prefix: '..' })],
  ['.. by a pax path', 'ARCHIVE_UNSAFE_ENTRY', tar(pax({ path: '../b' }), file)],
  ['.. by a long name', 'ARCHIVE_UNSAFE_ENTRY', tar(longLink('x/../../b'), file)],
  ['a path for all entries', 'ARCHIVE_UNSAFE_ENTRY', tar(pax({ path: 'a' }, 'g'), file)],
  ['a backslash', 'ARCHIVE_UNSAFE_ENTRY', tar({ name: '..\\a' })],
  ['a drive letter', 'ARCHIVE_UNSAFE_ENTRY', tar({ name: 'C:a' })],
  ['a NUL in a pax path', 'ARCHIVE_UNSAFE_ENTRY', tar(pax({ path: 'a\0b' }), file)],
  ['a NUL in a long name', 'ARCHIVE_UNSAFE_ENTRY', tar(longLink('a\0../b'), file)],
  ['a name part over 255 bytes', 'ARCHIVE_UNSAFE_ENTRY', tar(pax({ path: 'é'.repeat(128) }), file)],
  [
    'a path over 3,072 bytes',
    'ARCHIVE_UNSAFE_ENTRY',
    tar(pax({ path: 'ab/'.repeat(1100) + 'c' }), file),
  ],
  ['a character device', 'ARCHIVE_UNSAFE_ENTRY', tar({ name: 'null', type: '3' })],
  ['a block device', 'ARCHIVE_UNSAFE_ENTRY', tar({ name: 'sda', type: '4' })],
  ['a FIFO', 'ARCHIVE_UNSAFE_ENTRY', tar({ name: 'pipe', type: '6' })],
  ['a link to an absolute path', 'ARCHIVE_UNSAFE_ENTRY', tar(file, link('b', '/etc/passwd'))],
  ['a link above the root', 'ARCHIVE_UNSAFE_ENTRY', tar(file, link('d/b', '../../x'))],
  ['a link to nothing', 'ARCHIVE_UNSAFE_ENTRY', tar(file, link('b', ''))],
  [
    'a link above by a pax linkpath',
    'ARCHIVE_UNSAFE_ENTRY',
    tar(pax({ linkpath: '../x' }), link('b', 'a')),
  ],
  [
    'a link above by a long link',
    'ARCHIVE_UNSAFE_ENTRY',
    tar(longLink('../x', 'K'), link('b', 'a')),
  ],
  [
    'a link out through another link',
    'ARCHIVE_UNSAFE_ENTRY',
    tar(link('d/e/up', '../..'), link('x', 'd/e/up/../..'), file),
  ],
  [
    'a link out through a later link',
    'ARCHIVE_UNSAFE_ENTRY',
    tar(link('x', 'd/e/up/../..'), file, link('d/e/up', '../..')),
  ],
  [
    'a file placed behind a link',
    'ARCHIVE_UNSAFE_ENTRY',
    tar({ name: 'd/', type: '5' }, link('l', 'd'), { name: 'l/x' }),
  ],
  [
    'a folder placed behind a link',
    'ARCHIVE_UNSAFE_ENTRY',
    tar(link('l', 'd'), { name: 'l/x', type: '5' }),
  ],
  ['a hard link to outside', 'ARCHIVE_UNSAFE_ENTRY', tar(file, hard('b', '../x'))],
  ['a hard link to an absolute path', 'ARCHIVE_UNSAFE_ENTRY', tar(file, hard('b', '/etc/shadow'))],
  [
    'a hard link that moves a link out',
    'ARCHIVE_UNSAFE_ENTRY',
    tar(file, link('d/l', '../a.txt'), hard('m', 'd/l')),
  ],
  ['an entry said to be of 9 GiB', 'ARCHIVE_BOMB', tar(pax({ size: String(9 * 2 ** 30) }), file)],
  ['a pax header of 2 MiB', 'ARCHIVE_BOMB', tar({ name: 'p', type: 'x', size: 2 ** 21 })],
];

function signedChecksum(): Buffer {
  const bytes = tar({ ...file, name: 'é' });
  const stored = Number.parseInt(bytes.toString('latin1', 148, 154), 8);
  bytes.write(`${(stored - 512).toString(8).padStart(6, '0')}\0 `, 148, 'latin1');
  return bytes;
}

describe('a tar', () => {
  for (const [title, bytes] of accepted) {
    it(`is accepted with ${title}`, async () => {
      assert.equal(await verdict('tar', bytes), 'ok');
      assert.equal(await verdict('tar.gz', gzipSync(bytes)), 'ok');
    });
  }
  for (const [title, code, bytes] of refused) {
    it(`is refused as ${code}: ${title}`, async () => {
      assert.equal(await verdict('tar', bytes), code);
      const packed = code === 'ARCHIVE_TYPE_MISMATCH' ? 'ARCHIVE_CORRUPT' : code;
      assert.equal(await verdict('tar.gz', gzipSync(bytes)), packed);
    });
  }

  it('is told to its visitor as it is', async () => {
    const seen: (ArchiveEntry | string)[] = [];
    const bytes = tar(
      pax({ path: './d//ü.sh' }),
      { name: 'x', data: 'run', mode: 0o755 },
      link('d/l', 'ü.sh'),
      hard('h', 'd/ü.sh'),
    );
    const { entries, soleFolder } = await inspect('tar', bytes, {
      visitor: {
        entry: (entry) => seen.push(entry),
        data: (data) => seen.push(Buffer.from(data).toString()),
      },
    });
    assert.deepEqual(seen, [
      { path: 'd/ü.sh', kind: 'file', executable: true, target: '' },
      'run',
      { path: 'd/l', kind: 'symlink', executable: false, target: 'ü.sh' },
      { path: 'h', kind: 'hardlink', executable: false, target: 'd/ü.sh' },
    ]);
    assert.equal(entries, 4);
    assert.equal(soleFolder, null);
  });

  it('names its sole folder only when no link leaves that', async () => {
    const inside = [{ name: 'top/a' }, link('top/b', 'a'), { name: '__MACOSX/x' }];
    assert.equal((await inspect('tar', tar(...inside))).soleFolder, 'top');
    const leaving = [{ name: 'top/a' }, link('top/b', '../top/a')];
    assert.equal((await inspect('tar', tar(...leaving))).soleFolder, null);
  });

  it('is refused when it has too many entries or too long names', async () => {
    const many = tar(...Array.from({ length: 11 }, (_, i) => ({ name: `f${i}` })));
    assert.equal(await verdict('tar', many, { limits: { entriesMax: 11 } }), 'ok');
    assert.equal(await verdict('tar', many, { limits: { entriesMax: 10 } }), 'ARCHIVE_BOMB');
    assert.equal(await verdict('tar', many, { limits: { namesBytesMax: 20 } }), 'ARCHIVE_BOMB');
    const deep = tar({ name: 'a/b/c/d/e/f' });
    assert.equal(await verdict('tar', deep, { limits: { entriesMax: 5 } }), 'ARCHIVE_BOMB');
  });
});
