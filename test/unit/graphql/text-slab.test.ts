import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { TextSlab } from '../../../src/graphql/text-slab.ts';

describe('TextSlab', () => {
  it('encodes texts of any length and characters, and leaves those given before as they were', () => {
    const slab = new TextSlab();
    const texts = ['', 'plain', 'é€\u{1f680}', '€'.repeat(10_000), 'x'.repeat(200_000)];
    const many = Array.from({ length: 200 }, () => texts).flat();
    const given = many.map((text) => slab.encode(text));
    assert.deepEqual(
      given.map((bytes) => Buffer.from(bytes).toString()),
      many,
    );
  });

  it('shares memory between short texts only', () => {
    const slab = new TextSlab();
    const [one, two] = [slab.encode('one'), slab.encode('two')];
    assert.equal(one.buffer, two.buffer);
    assert.notEqual(slab.encode('x'.repeat(100_000)).buffer, one.buffer);
  });
});
