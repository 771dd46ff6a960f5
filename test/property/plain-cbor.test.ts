import assert from 'node:assert/strict';
import { it } from 'node:test';
import { inspect } from 'node:util';

import { Encoder } from 'cbor-x';
import fc from 'fast-check';

import { FrameError } from '../../src/protocol/message-frames.ts';
import { decodePlain, encodePlain, flawIn } from '../../src/protocol/plain-cbor.ts';

const plain = fc.letrec((tie) => ({
  value: fc.oneof(
    { maxDepth: 5, depthSize: 'small' },
    fc.oneof(
      fc.constant(null),
      fc.boolean(),
      fc.integer(),
      fc.double({ noNaN: true }),
      fc.string(),
      fc.string({ unit: 'binary' }),
      fc.uint8Array(),
    ),
    fc.array(tie('value'), { maxLength: 30 }),
    fc.dictionary(
      fc.string().filter((key) => key !== '__proto__'),
      tie('value'),
      { maxKeys: 30, noNullPrototype: true },
    ),
  ),
})).value;

it('decodePlain() gives back what encodePlain() was given', () => {
  fc.assert(
    fc.property(plain, (value) => {
      assert.deepEqual(decodePlain(encodePlain(value)), value);
    }),
  );
});

it('decodePlain() throws nothing but FrameError, whatever the bytes are', () => {
  const bytes = fc.oneof(
    fc.uint8Array({ maxLength: 64 }),
    fc.tuple(plain, fc.nat(), fc.nat(255), fc.boolean()).map(([value, at, byte, isCut]) => {
      const encoded = Uint8Array.from(encodePlain(value));
      encoded[at % encoded.length] = byte;
      return isCut ? encoded.subarray(0, at % encoded.length) : encoded;
    }),
  );
  fc.assert(
    fc.property(bytes, (one) => {
      try {
        decodePlain(one);
      } catch (error) {
        assert.ok(error instanceof FrameError, String(error));
      }
    }),
    { numRuns: 2000 },
  );
});

it('decodePlain() takes no errors, expressions, sets, maps, dates or references', () => {
  const same: unknown[] = [];
  const encoder = new Encoder({ useRecords: false, structuredClone: true });
  same.push(same);
  const others = [new Error('x'), /x/, new Set([1]), new Map([[1, 2]]), new Date(0), same];
  for (const other of others) {
    assert.throws(() => decodePlain(encoder.encode(other)), FrameError, inspect(other));
  }
  const records = new Encoder({ useRecords: true });
  assert.throws(() => decodePlain(records.encode({ a: 1 })), FrameError);
});

it('decodePlain() refuses what nests too deep or has too many members, before it is made', () => {
  assert.throws(() => decodePlain(Buffer.alloc(100_000, 0x81)), /deeper than 32 levels/);
  const many = Buffer.from([0x9a, 0x06, 0xb9, 0x52, 0x80]);
  assert.throws(() => decodePlain(many), /more than 200000 members/);
  const huge = Buffer.from([0x5b, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff]);
  assert.throws(() => decodePlain(huge), /cut off/);
  assert.equal(flawIn(Buffer.from([0x82, 0x82, 1, 2, 3]), { depthMax: 2, membersMax: 4 }), null);
  assert.match(
    flawIn(Buffer.from([0x82, 0x82, 1, 2, 3]), { depthMax: 1, membersMax: 4 }) ?? '',
    /deeper/,
  );
});

it('decodePlain() makes no prototypes of what it reads', () => {
  // { "__proto__": { "a": 1 } }
  const bytes = Buffer.from('a1695f5f70726f746f5f5fa1616101', 'hex');
  const read = decodePlain(bytes) as Record<string, unknown>;
  assert.equal(Object.getPrototypeOf(read), Object.prototype);
  assert.equal(read['a'], undefined);
});
