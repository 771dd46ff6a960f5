import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { link, mkdir, readFile, rename, symlink, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { chownSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import {
  Folder,
  ignoreChange,
  NotAFile,
  readWhole,
} from '../../../../src/lib/untrusted-files/folder.ts';
import { needs } from '../../../support/programs.ts';
import { temporaryFolder } from '../../../support/store-fixture.ts';

async function opened(t: TestContext) {
  const dir = await temporaryFolder(t);
  await mkdir(join(dir, 'in', 'sub'), { recursive: true });
  await writeFile(join(dir, 'in', 'sub', 'file'), 'inside');
  await mkdir(join(dir, 'out', 'sub'), { recursive: true });
  await writeFile(join(dir, 'out', 'sub', 'file'), 'outside');
  const folder = await Folder.open(join(dir, 'in'));
  t.after(() => folder.close());
  return { dir, folder };
}

async function textOf(folder: Folder, name: string): Promise<string | undefined> {
  const file = await folder.file(name);
  try {
    return (await readWhole(file, 100))?.toString();
  } finally {
    await file.close();
  }
}

describe('Folder', () => {
  it('stays the folder that was opened, whatever takes its place', async (t) => {
    const { dir, folder } = await opened(t);
    const sub = await folder.folder('sub');
    t.after(() => sub.close());
    await rename(join(dir, 'in'), join(dir, 'moved'));
    await symlink(join(dir, 'out'), join(dir, 'in'));
    await rename(join(dir, 'moved', 'sub'), join(dir, 'moved', 'sub.1'));
    await symlink(join(dir, 'out', 'sub'), join(dir, 'moved', 'sub'));
    assert.equal(await textOf(sub, 'file'), 'inside');
    await assert.rejects(folder.folder('sub'), /ENOTDIR|ELOOP/);
    await assert.rejects(folder.below(['sub', 'deeper']), /ENOTDIR|ELOOP/);
    const made = await sub.create('made');
    await made.close();
    await sub.unlink('file');
    assert.equal(await readFile(join(dir, 'out', 'sub', 'file'), 'utf8'), 'outside');
    assert.equal(await readFile(join(dir, 'moved', 'sub.1', 'made'), 'utf8'), '');
  });

  it('opens regular files alone, and never waits for a pipe', async (t) => {
    const { dir, folder } = await opened(t);
    const at = (name: string): string => join(dir, 'in', name);
    execFileSync('mkfifo', [at('pipe')]);
    await symlink(join(dir, 'out', 'sub', 'file'), at('link'));
    const server = createServer().listen(at('socket'));
    t.after(() => server.close());
    await new Promise((resolve) => server.once('listening', resolve));
    for (const [name, kind] of Object.entries({
      pipe: 'named pipe',
      link: 'link',
      socket: 'socket',
      sub: 'folder',
    })) {
      await assert.rejects(folder.file(name), (error) => {
        assert.ok(error instanceof NotAFile, String(error));
        return error.kind === kind;
      });
    }
    await assert.rejects(folder.create('link'), { code: 'EEXIST' });
  });

  it('takes names alone', async (t) => {
    const { folder } = await opened(t);
    for (const name of ['', '..', 'sub/file', '/etc/passwd', 'a\0b', Buffer.from('sub/file')]) {
      await assert.rejects(async () => folder.lstat(name), /no name/);
    }
  });

  it('tells a second name of a file of somebody else', { skip: needs('root') }, async (t) => {
    const { dir, folder } = await opened(t);
    chownSync(join(dir, 'in'), 345_678, 345_678);
    await link(join(dir, 'out', 'sub', 'file'), join(dir, 'in', 'linked'));
    await assert.rejects(folder.file('linked'), /of another owner/);
    chownSync(join(dir, 'out', 'sub', 'file'), 345_678, 345_678);
    assert.equal(await textOf(folder, 'linked'), 'outside');
  });

  it('reads up to a limit, and lists names that are no text', async (t) => {
    const { dir, folder } = await opened(t);
    await writeFile(join(dir, 'in', 'large'), 'x'.repeat(101));
    assert.equal(await textOf(folder, 'large'), undefined);
    const raw = Buffer.from([0x66, 0xff, 0xfe]);
    await writeFile(Buffer.concat([Buffer.from(`${join(dir, 'in')}/`), raw]), 'raw');
    const names: Buffer[] = [];
    for await (const name of folder.names()) names.push(name);
    const found = names.find((name) => name.equals(raw));
    assert.ok(found);
    assert.equal((await folder.lstat(found)).size, 3);
  });
});

describe('ignoreChange()', () => {
  it('takes what somebody may do to a file, and nothing else', () => {
    for (const code of ['ENOENT', 'ELOOP', 'ENOTDIR', 'EAGAIN', 'EACCES']) {
      assert.equal(ignoreChange(Object.assign(new Error(), { code })), undefined);
    }
    assert.throws(() => ignoreChange(Object.assign(new Error('full'), { code: 'ENOSPC' })), /full/);
    assert.throws(() => ignoreChange(new Error('bug')), /bug/);
  });
});
