import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { RecentOutput } from '../../../src/consoles/recent-output.ts';

describe('RecentOutput', () => {
  it('keeps all of what is little', () => {
    const recent = new RecentOutput(100);
    recent.push(Buffer.from('one '));
    recent.push(Buffer.from('two'));
    assert.equal(Buffer.from(recent.bytes()).toString(), 'one two');
  });

  it('keeps the last bytes of what is much, whatever the chunks', () => {
    for (const size of [1, 7, 64, 100, 5000]) {
      const recent = new RecentOutput(100);
      const all = Buffer.from('0123456789'.repeat(500));
      for (let at = 0; at < all.length; at += size) recent.push(all.subarray(at, at + size));
      assert.equal(Buffer.from(recent.bytes()).toString(), '0123456789'.repeat(10), String(size));
    }
  });

  it('begins between two characters', () => {
    for (const max of [10, 11, 12, 13]) {
      const recent = new RecentOutput(max);
      recent.push(Buffer.from('😀'.repeat(100)));
      const text = Buffer.from(recent.bytes()).toString();
      assert.match(text, /^(😀)*$/u, String(max));
    }
  });
});
