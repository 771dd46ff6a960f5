import assert from 'node:assert/strict';
import { chdir, cwd } from 'node:process';
import { existsSync, lstatSync, mkdirSync } from 'node:fs';
import { lstat, mkdir, readdir, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { depthMax } from '../../../../src/lib/untrusted-files/folder.ts';
import { handOverTree, removeTree } from '../../../../src/lib/untrusted-files/remove.ts';
import { needs } from '../../../support/programs.ts';
import { temporaryFolder } from '../../../support/store-fixture.ts';

describe('removeTree()', () => {
  it('removes files, folders and links, and nothing that a link names', async (t) => {
    const dir = await temporaryFolder(t);
    await mkdir(join(dir, 'out'));
    await writeFile(join(dir, 'out', 'kept'), '');
    await mkdir(join(dir, 'in', 'sub'), { recursive: true });
    for (const name of ['a', 'sub/b']) await writeFile(join(dir, 'in', name), '');
    await symlink(join(dir, 'out'), join(dir, 'in', 'sub', 'link'));
    const raw = Buffer.concat([Buffer.from(`${join(dir, 'in')}/`), Buffer.from([0xff, 0xfe])]);
    await writeFile(raw, '');
    await removeTree(join(dir, 'in'));
    assert.deepEqual(await readdir(dir), ['out']);
    await symlink(join(dir, 'out'), join(dir, 'in'));
    await removeTree(join(dir, 'in'));
    assert.deepEqual(await readdir(join(dir, 'out')), ['kept']);
    await removeTree(join(dir, 'in'));
    await removeTree(join(dir, 'none', 'such'));
  });

  it('removes a tree that no path reaches', async (t) => {
    const dir = await temporaryFolder(t);
    const before = cwd();
    t.after(() => chdir(before));
    mkdirSync(join(dir, 'deep'));
    chdir(join(dir, 'deep'));
    // Its path would have more than 4 KiB.
    const name = 'x'.repeat(100);
    for (let depth = 0; depth < depthMax * 3; depth++) {
      mkdirSync(name);
      chdir(name);
    }
    chdir(before);
    await removeTree(join(dir, 'deep'));
    assert.ok(!existsSync(join(dir, 'deep')));
  });
});

describe('handOverTree()', () => {
  it(
    'gives a folder and all in it to a uid, links and not what they name',
    { skip: needs('root') },
    async (t) => {
      const dir = await temporaryFolder(t);
      await mkdir(join(dir, 'in', 'sub'), { recursive: true });
      await writeFile(join(dir, 'outside'), '');
      await writeFile(join(dir, 'in', 'sub', 'file'), '');
      await symlink(join(dir, 'outside'), join(dir, 'in', 'link'));
      await handOverTree(join(dir, 'in'), 345_678);
      for (const name of ['in', 'in/sub', 'in/sub/file', 'in/link']) {
        const { uid, gid } = await lstat(join(dir, name));
        assert.deepEqual([uid, gid], [345_678, 345_678], name);
      }
      assert.equal(lstatSync(join(dir, 'outside')).uid, 0);
    },
  );
});
