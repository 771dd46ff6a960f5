import assert from 'node:assert/strict';
import { chmodSync, mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import type { TestContext } from 'node:test';
import { copyTree } from '../../../../src/drivers/process/copied-tree.ts';

function folderOf(t: TestContext, modes: Record<string, number>): string {
  const folder = mkdtempSync(join(tmpdir(), 'gangway-copied-'));
  t.after(() => {
    rmSync(folder, { recursive: true });
  });
  mkdirSync(join(folder, 'from', 'bin'), { recursive: true });
  for (const [name, mode] of Object.entries(modes)) {
    writeFileSync(join(folder, 'from', name), name);
    chmodSync(join(folder, 'from', name), mode);
  }
  return folder;
}

describe('copyTree()', () => {
  it('links what every uid may read and none but ours may write', async (t) => {
    const folder = folderOf(t, { 'a.js': 0o644, 'bin/run': 0o755 });
    await copyTree(join(folder, 'from'), join(folder, 'to'));
    for (const name of ['a.js', 'bin/run']) {
      assert.equal(
        statSync(join(folder, 'to', name)).ino,
        statSync(join(folder, 'from', name)).ino,
      );
    }
  });

  it('copies what is not so, and leaves that as it is', async (t) => {
    const modes = { secret: 0o600, shared: 0o664, 'bin/shared': 0o777, 'bin/setuid': 0o4755 };
    const folder = folderOf(t, modes);
    await copyTree(join(folder, 'from'), join(folder, 'to'));
    for (const [name, mode] of Object.entries(modes)) {
      const copy = statSync(join(folder, 'to', name));
      assert.equal(copy.mode & 0o7777, name.startsWith('bin/') ? 0o755 : 0o644, name);
      assert.equal(statSync(join(folder, 'from', name)).mode & 0o7777, mode, name);
    }
  });

  it('leaves out what it is told to', async (t) => {
    const folder = folderOf(t, { 'a.js': 0o644, 'bin/run': 0o755 });
    await copyTree(join(folder, 'from'), join(folder, 'to'), new Set(['bin']));
    assert.throws(() => statSync(join(folder, 'to', 'bin')), { code: 'ENOENT' });
  });
});
