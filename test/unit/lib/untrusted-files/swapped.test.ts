/** A program swaps folders for links, and files for links and pipes, while they are walked. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import {
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { copyTree, measureTree } from '../../../../src/lib/untrusted-files/copy.ts';
import {
  Folder,
  ignoreChange,
  readWhole,
  within,
} from '../../../../src/lib/untrusted-files/folder.ts';
import { removeTree } from '../../../../src/lib/untrusted-files/remove.ts';
import { temporaryFolder } from '../../../support/store-fixture.ts';
import { fillHostile, hostileText, startSwapping } from '../../../support/swapping.ts';

const secret = 'nobody else may read this';
const rounds = 6;

async function hostile(t: TestContext) {
  const dir = await temporaryFolder(t);
  const outside = join(dir, 'outside');
  mkdirSync(outside);
  const victims = Array.from({ length: 3 }, (_, n) => join(outside, `victim${String(n)}`));
  for (const file of victims) writeFileSync(file, secret, { mode: 0o600 });
  const folder = join(dir, 'app');
  mkdirSync(folder);
  fillHostile({ folder, outsideFolder: outside, outsideFile: join(outside, 'victim0'), count: 4 });
  const stop = await startSwapping(t, folder);
  const isUntouched = (): void => {
    assert.equal(readdirSync(outside).length, victims.length);
    for (const file of victims) {
      assert.equal(readFileSync(file, 'utf8'), secret);
      assert.equal(lstatSync(file).mode & 0o7777, 0o600);
    }
  };
  return { dir, folder, stop, isUntouched };
}

describe('a folder in which names are swapped all the while', () => {
  it('is copied and measured without what lies outside', async (t) => {
    const { dir, folder, stop, isUntouched } = await hostile(t);
    const to = join(dir, 'copy');
    mkdirSync(to);
    for (let round = 0; round < rounds; round++) {
      const leaves = (): boolean => false;
      await within(Folder.open(folder), (source) =>
        within(Folder.open(to), (target) => copyTree(source, target, { leaves })),
      );
      const total = { files: 0, bytes: 0 };
      await within(Folder.open(folder), (from) => measureTree(from, leaves, total));
      assert.ok(total.files > 0);
    }
    await stop();
    isUntouched();
    // -r follows no links: a file with the text is one that was copied.
    const found = execFileSync('grep', ['-rlD', 'skip', hostileText, to], { encoding: 'utf8' });
    assert.notEqual(found, '');
    assert.throws(() => execFileSync('grep', ['-rlD', 'skip', secret, to]), { status: 1 });
  });

  it('is read without a wait, and without what lies outside', async (t) => {
    const { folder, stop, isUntouched } = await hostile(t);
    for (let round = 0; round < rounds * 50; round++) {
      const text = await within(Folder.open(folder), async (at) => {
        const file = await at.file(`file${String(round % 4)}`).catch(ignoreChange);
        if (file === undefined) return undefined;
        const bytes = await readWhole(file, 100);
        await file.close();
        return bytes?.toString();
      });
      assert.ok(text === undefined || text === hostileText, text);
    }
    await stop();
    isUntouched();
  });

  it('is removed, and nothing outside', async (t) => {
    const { folder, isUntouched } = await hostile(t);
    await removeTree(folder);
    assert.ok(!existsSync(folder));
    isUntouched();
  });
});
