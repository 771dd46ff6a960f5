import assert from 'node:assert/strict';
import { describe, it } from 'node:test';

import { DockerIgnore } from '../../../../../src/drivers/docker/images/dockerignore.ts';

const leftOut = (patterns: string, ...names: string[]): string[] => {
  const rules = new DockerIgnore(patterns);
  return names.filter((name) => rules.leavesOut(name));
};

describe('DockerIgnore', () => {
  it('leaves out what is named, with all that is in it', () => {
    const names = ['a', 'a/b', 'ab', 'b/a', 'c', 'd e'];
    assert.deepEqual(leftOut('a\n# c\n\n', ...names), ['a', 'a/b']);
    assert.deepEqual(leftOut('\uFEFF/a/ \r\n./c\r\nd e', ...names), ['a', 'a/b', 'c', 'd e']);
    assert.deepEqual(leftOut('x/../b', ...names), ['b/a']);
    assert.deepEqual(leftOut('', ...names), []);
  });

  it('knows stars, question marks and classes, within one name', () => {
    assert.deepEqual(leftOut('*.log', 'a.log', 'a.log/b', 'x/a.log', '.log'), [
      'a.log',
      'a.log/b',
      '.log',
    ]);
    assert.deepEqual(leftOut('?/*', 'a', 'a/b', 'a/b/c', 'ab/c', 'é/x'), ['a/b', 'a/b/c', 'é/x']);
    assert.deepEqual(leftOut('[a-c]x', 'ax', 'cx', 'dx', '/x'), ['ax', 'cx']);
    assert.deepEqual(leftOut('[^a-c]x', 'ax', 'dx'), ['dx']);
    assert.deepEqual(leftOut('[\\]-]', ']', '-', '\\'), [']', '-']);
    assert.deepEqual(leftOut('\\*', '*', 'a'), ['*']);
    assert.deepEqual(leftOut('(a+)+$', '(a+)+$', 'aa'), ['(a+)+$']);
  });

  it('passes over any number of folders where there are two stars', () => {
    assert.deepEqual(leftOut('**/a', 'a', 'x/a', 'x/y/a/b', 'xa', 'x/ya'), ['a', 'x/a', 'x/y/a/b']);
    assert.deepEqual(leftOut('x/**', 'x', 'x/a', 'x/a/b', 'y/x/a'), ['x/a', 'x/a/b']);
    assert.deepEqual(leftOut('x/**/**/*.o', 'x/a.o', 'x/y/z/a.o', 'a.o'), ['x/a.o', 'x/y/z/a.o']);
    assert.deepEqual(leftOut('**', 'a', 'a/b'), ['a', 'a/b']);
  });

  it('takes the last word, and folders in which an exception may lie', () => {
    const names = ['a', 'a/b', 'a/b/c', 'a/x', 'd'];
    assert.deepEqual(leftOut('a\n!a/b/c', ...names), ['a/x']);
    assert.deepEqual(leftOut('*\n!a/?/*', ...names, 'a/bb'), ['d', 'a/bb']);
    assert.deepEqual(leftOut('!a\na', ...names), ['a', 'a/b', 'a/b/c', 'a/x']);
    assert.deepEqual(leftOut('*\n!**/c', 'd', 'd/e', 'd/c'), []);
    assert.deepEqual(leftOut('*\n! d ', ...names), ['a', 'a/b', 'a/b/c', 'a/x']);
  });

  it('refuses what is no pattern', () => {
    for (const text of ['[', 'a\n[]', 'a[b', 'a\\', '!', '! ']) {
      assert.throws(() => new DockerIgnore(text), { code: 'IMAGE_BUILD_FAILED' }, text);
    }
  });

  it('takes no more steps for one build than it has', () => {
    const text = Array.from({ length: 4 }, () => `**/${'a/**/'.repeat(1600)}b`).join('\n');
    const rules = new DockerIgnore(text, 1e6);
    assert.throws(() => rules.leavesOut('a/'.repeat(1500)), {
      code: 'IMAGE_BUILD_FAILED',
      message: /takes too long/,
    });
    const plain = new DockerIgnore('node_modules\n**/*.log\ndist', 1e6);
    for (let n = 0; n < 1000; n++) plain.leavesOut(`src/folder/file-${String(n)}.ts`);
  });

  it('is done soon with patterns that fit in a world of ways', () => {
    const long = 'a'.repeat(255);
    const evil = [
      '*a'.repeat(8000),
      '**/*/'.repeat(6000),
      '**a'.repeat(8000),
      `${'?*'.repeat(9000)}b`,
    ];
    for (const pattern of evil) {
      const rules = new DockerIgnore(`${pattern}x`);
      for (let i = 0; i < 20; i++) {
        assert.equal(rules.leavesOut(long), false);
        assert.equal(rules.leavesOut('a/'.repeat(100)), false);
      }
    }
  });
});
