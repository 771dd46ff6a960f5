import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { parseOptions } from '../../../bench/options.ts';

const known = ['health', 'upload'];

describe('the command line of the bench', () => {
  it('means all scenarios where none is named', () => {
    const { names, quick, compare, out } = parseOptions([], known);
    assert.deepEqual(
      { names, quick, compare, out },
      { names: known, quick: false, compare: null, out: null },
    );
  });

  it('takes names and options in any order', () => {
    const { names, quick, compare, out } = parseOptions(
      ['upload', '--compare', 'main', '--quick', '--out', 'x.html'],
      known,
    );
    assert.deepEqual(
      { names, quick, compare, out },
      { names: ['upload'], quick: true, compare: 'main', out: 'x.html' },
    );
  });

  it('refuses a scenario that is none, and names those there are', () => {
    assert.throws(
      () => parseOptions(['helth'], known),
      /no scenario helth; there are health, upload/,
    );
  });

  it('refuses an option that is none, and one without its value', () => {
    assert.throws(() => parseOptions(['--fast'], known), /--fast/);
    assert.throws(() => parseOptions(['--compare'], known), /--compare/);
  });
});
