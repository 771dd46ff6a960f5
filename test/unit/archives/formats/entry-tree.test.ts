import assert from 'node:assert/strict';
import { it } from 'node:test';

import { EntryTree } from '../../../../src/archives/formats/entry-tree.ts';
import { archiveLimits, Meter } from '../../../../src/archives/formats/limits.ts';

const longTarget = 'x/'.repeat(999) + 'x';

const treeOf = (links: Record<string, string>): EntryTree => {
  const tree = new EntryTree(new Meter(archiveLimits));
  for (const [path, target] of Object.entries(links)) tree.addSymlink(path, target);
  return tree;
};

it('EntryTree lets others have their turn while it walks many long links', async () => {
  let turns = 0;
  let isOver = false;
  const count = (): void => {
    turns += 1;
    if (!isOver) setImmediate(count);
  };
  setImmediate(count);
  const names = Array.from({ length: 200 }, (_, i) => [`link-${String(i)}`, longTarget]);
  await treeOf(Object.fromEntries(names) as Record<string, string>).finish();
  isOver = true;
  assert.ok(turns >= 8, `${String(turns)} turns for 200,000 steps`);
});

it('EntryTree gives up on links through links through long paths', async () => {
  const links: Record<string, string> = {};
  for (let i = 0; i < 180; i++) links[`a${String(i)}`] = `a${String(i + 1)}/${longTarget}`;
  await assert.rejects(treeOf(links).finish(), { code: 'ARCHIVE_BOMB' });
});

it('EntryTree walks back out of folders that are not there', async () => {
  await treeOf({ 'a/in': 'none/none/../../../b', 'a/b': '../none/../a/in' }).finish();
  // The link in its middle leads elsewhere than its text says.
  const through = treeOf({ 'a/b/up': '..', 'a/out': 'b/up/none/../../..' });
  await assert.rejects(through.finish(), { code: 'ARCHIVE_UNSAFE_ENTRY' });
});
