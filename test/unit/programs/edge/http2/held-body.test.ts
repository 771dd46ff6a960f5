import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';

import { HeldBody } from '../../../../../src/programs/edge/http2/held-body.ts';

function piecesOf(held: HeldBody): Buffer[] {
  const pieces: Buffer[] = [];
  for (let piece = held.shift(); piece !== undefined; piece = held.shift()) pieces.push(piece);
  return pieces;
}

describe('HeldBody', () => {
  it('gives back what it was given, in order, whenever that is asked for', () => {
    const step = fc.oneof(fc.uint8Array({ maxLength: 5000 }), fc.constant('shift'));
    fc.assert(
      fc.property(fc.array(step, { maxLength: 30 }), (steps) => {
        const [held, given, taken] = [new HeldBody(), [] as Uint8Array[], [] as Buffer[]];
        for (const one of steps) {
          if (typeof one === 'string') taken.push(held.shift() ?? Buffer.alloc(0));
          else {
            held.add(Buffer.from([7, ...one, 7]), 1, one.length + 1);
            given.push(one);
          }
        }
        const left = Buffer.concat(given).length - Buffer.concat(taken).length;
        assert.equal(held.length, left);
        taken.push(...piecesOf(held));
        assert.deepEqual(Buffer.concat(taken), Buffer.concat(given));
        assert.equal(held.length, 0);
      }),
    );
  });

  it('keeps bytes that come one by one in few pieces, and takes no more than is needed for a small body', () => {
    const held = new HeldBody();
    for (let at = 0; at < 256 * 1024; at++) held.add(Buffer.of(at & 0xff), 0, 1);
    assert.ok(piecesOf(held).length < 25);
    held.add(Buffer.from('body'), 0, 4);
    assert.equal(piecesOf(held)[0]?.length, 4);
  });
});
