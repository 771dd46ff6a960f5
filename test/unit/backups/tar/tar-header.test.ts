import assert from 'node:assert/strict';
import { describe, it } from 'node:test';

import { hasTarChecksum, readTarHeader } from '../../../../src/archives/formats/tar-header.ts';
import { tarHeaders } from '../../../../src/backups/tar/tar-header.ts';
import { staysBelow } from '../../../../src/backups/tar/tar-tree.ts';

describe('tarHeaders()', () => {
  it('writes what readers of tar read, also sizes beyond octal', () => {
    for (const size of [0, 511, 8 * 1024 ** 3 - 1, 8 * 1024 ** 3, 3 * 1024 ** 4]) {
      const entry = {
        type: 'file',
        mode: 0o100755,
        mtimeMs: 1e12,
        target: Buffer.alloc(0),
      } as const;
      const block = tarHeaders({ ...entry, name: Buffer.from('a/b'), size });
      assert.equal(block.length, 512);
      assert.ok(hasTarChecksum(block));
      const { name, size: read, executable, type } = readTarHeader(block);
      assert.deepEqual([name, read, executable, type], ['a/b', size, true, '0']);
    }
  });

  it('puts names beyond 100 bytes in front', () => {
    const name = Buffer.from('n'.repeat(101));
    const entry = { type: 'link', size: 0, mode: 0o777, mtimeMs: -5, target: name } as const;
    const blocks = tarHeaders({ ...entry, name });
    assert.equal(blocks.length, 5 * 512);
    const types = [0, 2, 4].map((at) => readTarHeader(blocks.subarray(at * 512)).type);
    assert.deepEqual(types, ['K', 'L', '2']);
  });
});

describe('staysBelow()', () => {
  it('lets a link stay that leads nowhere else, wherever the tree is put', () => {
    for (const [target, depth] of [
      ['a', 0],
      ['./a//b', 0],
      ['../a', 1],
      ['../..', 2],
      ['.', 0],
      ['..a', 0],
    ] as const) {
      // prettier-ignore
      assert.ok(staysBelow(target, depth), target);
    }
    for (const [target, depth] of [
      ['', 0],
      ['/a', 3],
      ['..', 0],
      ['../../a', 1],
      ['a/..', 2],
      ['a/../../b', 3],
      ['.//..', 0],
      ['a\\b', 1],
      ['C:x', 1],
    ] as const) {
      // prettier-ignore
      assert.ok(!staysBelow(target, depth), target);
    }
  });
});
