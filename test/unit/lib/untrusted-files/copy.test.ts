import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { lstatSync, mkdirSync, readFileSync, truncateSync, writeFileSync } from 'node:fs';
import {
  chmod,
  lstat,
  mkdir,
  open,
  readdir,
  readFile,
  readlink,
  rm,
  symlink,
  writeFile,
} from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { copyTree, measureTree, type Missed } from '../../../../src/lib/untrusted-files/copy.ts';
import { depthMax, Folder, within } from '../../../../src/lib/untrusted-files/folder.ts';
import { temporaryFolder } from '../../../support/store-fixture.ts';

async function places(t: TestContext) {
  const dir = await temporaryFolder(t);
  const [from, to] = [join(dir, 'from'), join(dir, 'to')];
  await mkdir(from);
  await mkdir(to);
  return { dir, from, to };
}

async function copied(
  { from, to }: { from: string; to: string },
  leaves?: (path: string) => boolean,
) {
  const missed = new Map<string, Missed>();
  const files = await within(Folder.open(from), (source) =>
    within(Folder.open(to), (target) =>
      copyTree(source, target, {
        leaves: leaves ?? (() => false),
        missed: (path, why) => missed.set(path, why),
      }),
    ),
  );
  return { files, missed };
}

describe('copyTree()', () => {
  it('copies what is missing or differs, with modes, times and links', async (t) => {
    const at = await places(t);
    await mkdir(join(at.from, 'sub'));
    await writeFile(join(at.from, 'sub', 'file'), 'text', { mode: 0o640 });
    await symlink('sub/file', join(at.from, 'link'));
    await writeFile(join(at.from, 'left'), '');
    await chmod(join(at.from, 'sub'), 0o750);
    const leaves = (path: string): boolean => path === 'left';
    assert.equal((await copied(at, leaves)).files, 1);
    assert.equal((await copied(at, leaves)).files, 0);
    await writeFile(join(at.from, 'sub', 'file'), 'longer text');
    assert.equal((await copied(at, leaves)).files, 1);
    assert.deepEqual((await readdir(at.to)).sort(), ['link', 'sub']);
    const [source, target] = [
      await lstat(join(at.from, 'sub/file')),
      await lstat(join(at.to, 'sub/file')),
    ];
    assert.equal(await readFile(join(at.to, 'sub/file'), 'utf8'), 'longer text');
    assert.equal(target.mode & 0o7777, 0o640);
    assert.ok(Math.abs(target.mtimeMs - source.mtimeMs) < 1);
    assert.equal(await readlink(join(at.to, 'link')), 'sub/file');
    assert.equal((await lstat(join(at.to, 'sub'))).mode & 0o777, 0o750);
  });

  it('writes through no link that was copied before, into nothing that was there before', async (t) => {
    const at = await places(t);
    const victim = join(at.dir, 'victim');
    const victims = join(at.dir, 'victims');
    await writeFile(victim, 'secret', { mode: 0o600 });
    await mkdir(victims);
    await symlink(victim, join(at.from, 'file'));
    await symlink(victims, join(at.from, 'folder'));
    await copied(at);
    for (const name of ['file', 'folder']) await rm(join(at.from, name));
    await writeFile(join(at.from, 'file'), 'hostile');
    await mkdir(join(at.from, 'folder'));
    await writeFile(join(at.from, 'folder', 'file'), 'hostile');
    await copied(at);
    assert.equal(await readFile(victim, 'utf8'), 'secret');
    assert.deepEqual(await readdir(victims), []);
    assert.equal(await readFile(join(at.to, 'file'), 'utf8'), 'hostile');
    assert.equal(await readFile(join(at.to, 'folder', 'file'), 'utf8'), 'hostile');
    // And back again: a folder becomes a file and a link.
    for (const name of ['file', 'folder']) await rm(join(at.from, name), { recursive: true });
    await writeFile(join(at.from, 'folder'), 'file');
    await symlink('x', join(at.from, 'file'));
    await copied(at);
    assert.equal(await readFile(join(at.to, 'folder'), 'utf8'), 'file');
    assert.equal(await readlink(join(at.to, 'file')), 'x');
  });

  it('tells what is no file, and what lies too deep', async (t) => {
    const at = await places(t);
    execFileSync('mkfifo', [join(at.from, 'pipe')]);
    const deep = Array.from({ length: depthMax + 2 }, () => 'd').join('/');
    mkdirSync(join(at.from, deep), { recursive: true });
    const { missed } = await copied(at);
    assert.equal(missed.get('pipe'), 'special');
    assert.deepEqual([...missed.values()].sort(), ['deep', 'special']);
    assert.deepEqual(await readdir(at.to), ['d']);
    const total = { files: 0, bytes: 0 };
    await within(Folder.open(at.from), (folder) => measureTree(folder, () => false, total));
    assert.deepEqual(total, { files: 0, bytes: 0 });
  });

  it('keeps holes, small and endless ones', async (t) => {
    const at = await places(t);
    const sizes = { small: 8 * 2 ** 20, endless: 2 ** 37 };
    for (const [name, size] of Object.entries(sizes)) {
      const file = join(at.from, name);
      writeFileSync(file, 'begin');
      truncateSync(file, size - 3);
      const opened = await open(file, 'r+');
      await opened.write('end', size - 3);
      await opened.close();
    }
    await copied(at);
    for (const [name, size] of Object.entries(sizes)) {
      const found = lstatSync(join(at.to, name));
      assert.equal(found.size, size);
      assert.ok(found.blocks * 512 < 3 * 2 ** 20, `${name}: ${String(found.blocks)} blocks`);
      const opened = await open(join(at.to, name));
      const { buffer } = await opened.read(Buffer.alloc(3), 0, 3, size - 3);
      await opened.close();
      assert.equal(buffer.toString(), 'end');
    }
    assert.equal(readFileSync(join(at.to, 'small')).subarray(0, 6).toString(), 'begin\0');
  });

  it('fails for what is not the doing of somebody else, and names the file', async (t) => {
    const at = await places(t);
    await writeFile(join(at.from, 'file'), 'x');
    const failing = within(Folder.open(at.from), (from) =>
      within(Folder.open(at.to), async (to) => {
        await rm(at.to, { recursive: true });
        await copyTree(from, to, { leaves: () => false });
      }),
    );
    await assert.rejects(failing, /Cannot copy "file": .*ENOENT/);
  });
});
