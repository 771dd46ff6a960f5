import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { namesBranch } from '../../../../src/git/deliveries/branch-patterns.ts';

describe('namesBranch()', () => {
  it('takes * for any characters, and everything else for itself', () => {
    const cases: [pattern: string, named: string[], others: string[]][] = [
      ['main', ['main'], ['main2', 'amain', '', 'MAIN']],
      ['*', ['', 'a', 'a/b'], []],
      ['feat/*', ['feat/a', 'feat/a/b', 'feat/'], ['feat', 'a/feat/b']],
      ['*-preview', ['a-preview', '-preview'], ['preview', 'a-preview-b']],
      ['a*b*a', ['aba', 'axxbyya', 'abba'], ['ab', 'aa', 'ba']],
      ['ab*ba', ['abba', 'abxba'], ['aba']],
      ['a**b', ['ab', 'axb'], ['a']],
      ['a.b', ['a.b'], ['axb']],
    ];
    for (const [pattern, named, others] of cases) {
      for (const branch of named) assert.ok(namesBranch([pattern], branch), `${pattern} ${branch}`);
      for (const branch of others) {
        assert.ok(!namesBranch([pattern], branch), `${pattern} ${branch}`);
      }
    }
    assert.ok(namesBranch(['x', 'y*'], 'yes'));
    assert.ok(!namesBranch([], 'yes'));
  });

  it('takes no time for patterns that mean harm', () => {
    assert.ok(!namesBranch([`${'*a'.repeat(120)}*b*c`], 'a'.repeat(250)));
  });
});
