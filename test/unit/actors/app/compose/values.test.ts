import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  durationMs,
  portInside,
  sizeBytes,
  volumeUse,
  wordsOf,
} from '../../../../../src/actors/app/compose/values.ts';

describe('the notations of a compose file', () => {
  it('has durations', () => {
    assert.deepEqual(
      ['1m30s', '10s', '1.5h', '250ms'].map(durationMs),
      [90_000, 10_000, 5_400_000, 250],
    );
    assert.deepEqual(['', '10', 's', '1 s', '1s x'].map(durationMs), Array(5).fill(undefined));
  });

  it('has sizes', () => {
    assert.deepEqual(['512m', '1gb', '4096', '1.5K', '7b'].map(sizeBytes), [
      512 * 2 ** 20,
      2 ** 30,
      4096,
      1536,
      7,
    ]);
    assert.deepEqual(['', 'm', '-1m', '1t', '1 m'].map(sizeBytes), Array(5).fill(undefined));
  });

  it('has command lines', () => {
    assert.deepEqual(wordsOf(`sh -c "a \\"b\\" 'c'" 'd e'f ''`), [
      'sh',
      '-c',
      `a "b" 'c'`,
      'd ef',
      '',
    ]);
    assert.deepEqual(wordsOf('a\\ b  \n c'), ['a b', 'c']);
    assert.deepEqual(wordsOf(''), []);
    assert.equal(wordsOf(`a "b`), undefined);
  });

  it('has ports', () => {
    assert.deepEqual(
      ['80', '8080:80', '127.0.0.1:8080:80', '127.0.0.1::80', '[::1]:1:80/tcp', ':80'].map(
        portInside,
      ),
      Array(6).fill(80),
    );
    assert.deepEqual(
      ['', '0', '70000', '53:53/udp', '80-81', 'a'].map(portInside),
      Array(6).fill(undefined),
    );
  });

  it('has volumes', () => {
    assert.deepEqual(volumeUse('data:/x:ro'), { name: 'data', path: '/x', readOnly: true });
    assert.deepEqual(volumeUse('/cache'), { name: null, path: '/cache', readOnly: false });
    for (const text of [
      '/a:/b',
      './a:/b',
      'data',
      'data:x',
      'data:/x:z',
      'data:/x:ro:z',
      '',
      'd:/',
      '/..',
    ]) {
      assert.equal(typeof volumeUse(text), 'string', text);
    }
  });
});
