import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { AnswerReader } from '../../../bench/load/answers.ts';

const bodies = fc.array(fc.uint8Array({ maxLength: 40 }), { minLength: 1, maxLength: 6 });
const cuts = fc.array(fc.integer({ min: 1, max: 50 }), { minLength: 1, maxLength: 20 });

/** Every second one in chunks, each of half the body. */
function bytesOf(list: readonly Uint8Array[]): Buffer {
  return Buffer.concat(
    list.flatMap((body, i) => {
      if (i % 2 === 0) {
        const head = `HTTP/1.1 200 OK\r\nContent-Length: ${body.length}\r\n\r\n`;
        return [Buffer.from(head), body];
      }
      const half = body.length >> 1;
      const parts = [body.subarray(0, half), body.subarray(half)].filter((part) => part.length > 0);
      const chunks = parts.flatMap((part) => [
        Buffer.from(`${part.length.toString(16)}\r\n`),
        part,
        Buffer.from('\r\n'),
      ]);
      const head = Buffer.from('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n');
      return [head, ...chunks, Buffer.from('0\r\n\r\n')];
    }),
  );
}

describe('AnswerReader', () => {
  for (const isLent of [false, true]) {
    const how = isLent ? 'in one buffer that is used again' : 'in a buffer each';
    it(`reads the same answers however they are cut, ${how}`, () => {
      fc.assert(
        fc.property(bodies, cuts, (list, sizes) => {
          const bytes = bytesOf(list);
          const reader = new AnswerReader();
          const read: string[] = [];
          const lent = Buffer.alloc(64);
          for (let at = 0, i = 0; at < bytes.length; i++) {
            const piece = bytes.subarray(at, at + (sizes[i % sizes.length] ?? 1));
            at += piece.length;
            if (isLent) piece.copy(lent);
            const chunk = isLent ? lent.subarray(0, piece.length) : piece;
            for (const { status, body } of reader.push(chunk, isLent)) {
              assert.equal(status, 200);
              read.push(body.toString('hex'));
            }
            // Whoever lends it writes over it as soon as the call is over.
            lent.fill(0xff);
          }
          assert.deepEqual(
            read,
            list.map((body) => Buffer.from(body).toString('hex')),
          );
        }),
      );
    });
  }
});
