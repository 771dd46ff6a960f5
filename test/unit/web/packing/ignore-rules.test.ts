import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { IgnoreRules } from '../../../../web/packing/ignore-rules.ts';

const leavesOut = (text: string, path: string, isFolder = false): boolean =>
  IgnoreRules.none.with('', text).leavesOut(path, isFolder);

/** A line of .gitignore, what it names, and what it does not. A slash at the end says a folder. */
const cases: [string, string[], string[]][] = [
  ['*.log', ['a.log', 'deep/er/b.log', 'x.log/'], ['a.logs', 'log']],
  ['build/', ['build/', 'a/build/'], ['build', 'rebuild/']],
  ['/build', ['build', 'build/'], ['a/build']],
  ['docs/*.txt', ['docs/a.txt'], ['docs/a/b.txt', 'x/docs/a.txt']],
  ['**/tmp', ['tmp', 'a/tmp', 'a/b/tmp/'], ['tmps']],
  ['a/**/z', ['a/z', 'a/b/z', 'a/b/c/z'], ['z', 'b/a/z']],
  ['out/**', ['out/a', 'out/a/b'], ['out/', 'x/out/a']],
  ['file?.c', ['file1.c'], ['file.c', 'file10.c']],
  ['[a-c]x', ['ax', 'cx'], ['dx', 'x']],
  ['[!a]x', ['bx'], ['ax']],
  ['\\#not', ['#not'], ['not']],
  ['\\!loud', ['!loud'], ['loud']],
  ['# a comment', [], ['# a comment', 'a']],
  ['', [], ['a']],
  ['[open', ['[open'], ['open']],
  ['space ', ['space'], ['space ']],
];

describe('IgnoreRules', () => {
  for (const [line, named, others] of cases) {
    it(`leaves out what ${line === '' ? 'an empty line' : line} names, and nothing else`, () => {
      const ask = (path: string): boolean =>
        leavesOut(line, path.replace(/\/$/, ''), path.endsWith('/'));
      assert.deepEqual(
        named.filter((path) => !ask(path)),
        [],
      );
      assert.deepEqual(others.filter(ask), []);
    });
  }

  it('lets a later line take back an earlier one', () => {
    assert.equal(leavesOut('*.env\n!keep.env', 'keep.env'), false);
    assert.equal(leavesOut('!keep.env\n*.env', 'keep.env'), true);
  });

  it('lets the rules of a folder win over those above, and hold in it alone', () => {
    const rules = IgnoreRules.none.with('', '*.md').with('docs/', '!*.md\n/own');
    assert.equal(rules.leavesOut('a.md', false), true);
    assert.equal(rules.leavesOut('docs/a.md', false), false);
    assert.equal(rules.leavesOut('docs/own', false), true);
  });

  it('leaves out what no build wants, whatever the files say', () => {
    const rules = IgnoreRules.none.with('', '!node_modules\n!.git');
    assert.equal(rules.leavesOut('a/node_modules', true), true);
    assert.equal(rules.leavesOut('.git', true), true);
    assert.equal(rules.leavesOut('.gitignore', false), false);
  });

  it('is done at once with a pattern that would make others try for ever', () => {
    const name = 'a'.repeat(5_000);
    assert.equal(leavesOut(`${'*a'.repeat(200)}b`, name), false);
    assert.equal(leavesOut(`${'**/'.repeat(200)}b`, Array(200).fill('a').join('/')), false);
  });
});
