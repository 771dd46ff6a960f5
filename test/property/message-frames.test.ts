import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';

import {
  encodeFrame,
  FrameDecoder,
  FrameError,
  frameMaxBytes,
} from '../../src/protocol/message-frames.ts';

// What messages are made of. Keys that are no plain property names are no part of any message.
const value = fc.letrec((tie) => ({
  any: fc.oneof(
    { maxDepth: 4 },
    fc.string(),
    fc.double({ noNaN: true, noDefaultInfinity: true }).filter((n) => !Object.is(n, -0)),
    fc.maxSafeInteger(),
    fc.boolean(),
    fc.constant(null),
    fc.uint8Array().map((bytes) => Buffer.from(bytes)),
    fc.array(tie('any'), { maxLength: 5 }),
    fc.dictionary(
      fc.string({ maxLength: 10 }).filter((key) => key !== '__proto__'),
      tie('any'),
      { maxKeys: 5, noNullPrototype: true },
    ),
  ),
})).any;

function decodeCut(bytes: Buffer, cuts: readonly number[]): unknown[] {
  const decoder = new FrameDecoder();
  const values: unknown[] = [];
  let at = 0;
  for (const cut of [...cuts, bytes.length]) {
    values.push(...decoder.push(bytes.subarray(at, at + cut)));
    at = Math.min(at + cut, bytes.length);
  }
  return values;
}

describe('FrameDecoder', () => {
  it('gives back what was encoded, however the bytes were cut', () => {
    fc.assert(
      fc.property(fc.array(value, { maxLength: 5 }), fc.array(fc.nat(30)), (values, cuts) => {
        const bytes = Buffer.concat(values.map((each) => encodeFrame(each)));
        assert.deepEqual(decodeCut(bytes, cuts), values);
      }),
    );
  });

  it('throws nothing but FrameError at hostile bytes', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 300 }), fc.array(fc.nat(20)), (bytes, cuts) => {
        try {
          decodeCut(Buffer.from(bytes), cuts);
        } catch (error) {
          assert.ok(error instanceof FrameError, String(error));
        }
      }),
    );
  });

  it('refuses a length beyond its bound before the frame arrives', () => {
    const header = Buffer.alloc(4);
    header.writeUInt32BE(frameMaxBytes + 1);
    assert.throws(() => new FrameDecoder().push(header), FrameError);
    assert.throws(() => new FrameDecoder().push(Buffer.alloc(4)), FrameError);
    assert.throws(() => encodeFrame(Buffer.alloc(frameMaxBytes + 1)), FrameError);
  });

  it('keeps what it gave out when its chunk is written over', () => {
    const chunk = Buffer.from(encodeFrame({ bytes: Buffer.from('abc') }));
    const [first] = new FrameDecoder().push(chunk) as { bytes: Buffer }[];
    chunk.fill(0);
    assert.equal(first?.bytes.toString(), 'abc');
  });
});
