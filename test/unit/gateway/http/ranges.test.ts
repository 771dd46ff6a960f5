import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  hasMatch,
  mayMatch,
  rangeCounts,
  wantedBytes,
} from '../../../../src/gateway/http/ranges.ts';

describe('wantedBytes()', () => {
  it('reads one range of bytes', () => {
    assert.deepEqual(wantedBytes('bytes=0-', 10), { start: 0, end: 9 });
    assert.deepEqual(wantedBytes('bytes=3-5', 10), { start: 3, end: 5 });
    assert.deepEqual(wantedBytes('bytes=3-500', 10), { start: 3, end: 9 });
    assert.deepEqual(wantedBytes('Bytes= 9-9', 10), { start: 9, end: 9 });
    assert.deepEqual(wantedBytes('bytes=-4', 10), { start: 6, end: 9 });
    assert.deepEqual(wantedBytes('bytes=-400', 10), { start: 0, end: 9 });
  });

  it('says where there is nothing of it', () => {
    for (const range of ['bytes=10-', 'bytes=10-20', 'bytes=-0', 'bytes=99999999999999999999-']) {
      assert.equal(wantedBytes(range, 10), 'none', range);
    }
  });

  it('takes several ranges, other units and nonsense for all', () => {
    for (const range of ['', 'bytes=-', 'bytes=5-3', 'bytes=0-1,3-4', 'lines=1-2', 'bytes=a-b']) {
      assert.equal(wantedBytes(range, 10), 'all', range);
    }
  });
});

describe('the conditions of a range', () => {
  it('count without If-Range, or with the very tag', () => {
    assert.ok(rangeCounts('', '"a"'));
    assert.ok(rangeCounts('"a"', '"a"'));
    assert.ok(!rangeCounts('"b"', '"a"'));
    assert.ok(!rangeCounts('W/"a"', '"a"'));
    assert.ok(!rangeCounts('Wed, 21 Oct 2026 07:28:00 GMT', '"a"'));
  });

  it('know the tags of If-Match, weak ones as none', () => {
    assert.ok(mayMatch('', '"a"'));
    assert.ok(mayMatch('*', '"a"'));
    assert.ok(mayMatch('"b", "a"', '"a"'));
    assert.ok(!mayMatch('"b"', '"a"'));
    assert.ok(!mayMatch('W/"a"', '"a"'));
  });

  it('know the tags of If-None-Match', () => {
    assert.ok(hasMatch('"b", W/"a"', '"a"'));
    assert.ok(hasMatch('*', '"a"'));
    assert.ok(!hasMatch('', '"a"'));
    assert.ok(!hasMatch('"b"', '"a"'));
  });
});
