import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { TextSlab } from '../../../../src/graphql/execution/text-slab.ts';

const codes = (text: string): string => String([...Buffer.from(text)]);

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
    assert.ok(one.buffer === two.buffer);
    assert.ok(slab.encode('x'.repeat(200_000)).buffer !== one.buffer);
  });

  it('writes on what was given back, if that was given last', () => {
    const slab = new TextSlab();
    const [one, two] = [slab.encode('one'), slab.encode('two')];
    slab.release(one);
    const three = slab.encode('three');
    assert.deepEqual(
      [one, two, three].map((bytes) => String([...bytes])),
      ['one', 'two', 'three'].map(codes),
    );
    slab.release(three);
    slab.release(three);
    assert.equal(slab.encode('four').byteOffset, three.byteOffset);
    slab.release(two);
    assert.deepEqual(
      [one, two].map((bytes) => String([...bytes])),
      ['one', 'two'].map(codes),
    );
  });
});
