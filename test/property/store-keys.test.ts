import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { endOf } from '../../src/store/files/environment.ts';
import { decodeKey, encodeKey, keyText } from '../../src/store/records/keys.ts';
import type { KeyPart } from '../../src/store/records/table.ts';
import { compareKeys } from '../support/model-store.ts';

const text = fc.oneof(
  fc.string({ unit: fc.constantFrom('\0', '\u0001', 'a', 'b', 'ÿ', '\uffff', '😀') }),
  fc.string({ unit: 'grapheme' }),
);
const part: fc.Arbitrary<KeyPart> = fc.oneof(
  text,
  fc.double({ noNaN: true }),
  fc.integer({ min: -3, max: 3 }),
  fc.boolean(),
  fc.constant(null),
);
const parts = fc.array(part, { maxLength: 4 });
const positiveZero = (list: readonly KeyPart[]) => list.map((p) => (p === 0 ? 0 : p));

describe('keys', () => {
  it('decode to the parts that were encoded', () => {
    fc.assert(
      fc.property(parts, (list) => {
        assert.deepEqual(decodeKey(encodeKey(list)), positiveZero(list));
      }),
    );
  });

  it('order by bytes as their parts order', () => {
    fc.assert(
      fc.property(parts, parts, (a, b) => {
        const order = Math.sign(Buffer.compare(encodeKey(a), encodeKey(b)));
        assert.equal(order, Math.sign(compareKeys(a, b)));
      }),
      { numRuns: 500 },
    );
  });

  it('lie in the range of a prefix exactly when they begin with its parts', () => {
    const related = fc.tuple(parts, parts).map(([prefix, rest]) => [[...prefix, ...rest], prefix]);
    fc.assert(
      fc.property(fc.oneof(fc.tuple(parts, parts), related), ([a, b]) => {
        const [key, low] = [encodeKey(a), encodeKey(b)];
        const inRange = Buffer.compare(key, low) >= 0 && Buffer.compare(key, endOf(low)) < 0;
        const byParts =
          b.length <= a.length && b.every((p, i) => compareKeys([p], [a[i] ?? null]) === 0);
        assert.equal(inRange, byParts);
      }),
      { numRuns: 500, examples: [[[['\0'], ['']]], [[[Infinity], [Infinity]]]] },
    );
  });

  it('are as distinct as text as they are as bytes', () => {
    fc.assert(
      fc.property(parts, parts, (a, b) => {
        assert.equal(keyText(a) === keyText(b), encodeKey(a).equals(encodeKey(b)));
      }),
      { numRuns: 500 },
    );
  });

  it('read a lone string as a list of one', () => {
    fc.assert(
      fc.property(text, (lone) => {
        assert.equal(keyText(lone), keyText([lone]));
      }),
    );
  });
});
