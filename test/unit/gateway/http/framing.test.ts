import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { readFraming } from '../../../../src/gateway/http/framing.ts';

const kind = (lengths: string[], encodings: string[], hosts = 1): string =>
  readFraming(lengths, encodings, hosts).kind;

describe('readFraming()', () => {
  it('tells the end of a body from one length or one chunked', () => {
    assert.deepEqual(readFraming(['12'], [], 1), { kind: 'length', bytes: 12 });
    assert.equal(kind([], ['chunked']), 'chunked');
    assert.equal(kind([], ['Chunked']), 'chunked');
    assert.equal(kind([], []), 'none');
    assert.equal(kind(['0'], []), 'none');
  });

  it('refuses every second reading of where a body ends', () => {
    for (const lengths of [['5', '5'], ['5', '3'], ['', '5'], [''], ['+5'], ['-1'], ['5, 5']]) {
      assert.equal(kind(lengths, []), 'refused', JSON.stringify(lengths));
    }
    for (const lengths of [['0x5'], ['5 5'], ['1e3'], ['9999999999999999']]) {
      assert.equal(kind(lengths, []), 'refused', JSON.stringify(lengths));
    }
    for (const encodings of [['gzip, chunked'], ['chunked', 'chunked'], [''], ['identity']]) {
      assert.equal(kind([], encodings), 'refused', JSON.stringify(encodings));
    }
    assert.equal(kind(['5'], ['chunked']), 'refused');
  });

  it('refuses none or two Hosts', () => {
    assert.equal(kind([], [], 0), 'refused');
    assert.equal(kind([], [], 2), 'refused');
  });
});
