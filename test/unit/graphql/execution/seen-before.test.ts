import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { hashOfText, SeenBefore } from '../../../../src/graphql/execution/seen-before.ts';

describe('SeenBefore', () => {
  it('knows what came before, and nothing else', () => {
    const seen = new SeenBefore();
    assert.deepEqual(
      [seen.note(5), seen.note(6), seen.note(5), seen.note(6)],
      [false, false, true, true],
    );
  });

  it('forgets what another one took the place of', () => {
    const seen = new SeenBefore();
    seen.note(5);
    for (let hash = 6; hash < 6 + 4_096; hash++) seen.note(hash);
    assert.equal(seen.note(5), false);
  });
});

describe('hashOfText()', () => {
  it('tells texts apart that differ in one character, wherever that is', () => {
    const text = 'x'.repeat(300);
    const others = Array.from(
      { length: 300 },
      (_, i) => `${text.slice(0, i)}y${text.slice(i + 1)}`,
    );
    const hashes = new Set([text, ...others].map(hashOfText));
    assert.equal(hashes.size, 301);
  });
});
