/** The bench reads answers as they come: whatever the network splits, and however the body is framed. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { AnswerReader } from '../../bench/load/answers.ts';

interface Sent {
  status: number;
  body: Uint8Array;
  chunks: number[] | null;
}

const sent: fc.Arbitrary<Sent> = fc.record({
  status: fc.integer({ min: 200, max: 599 }),
  body: fc.uint8Array({ maxLength: 400 }),
  chunks: fc.option(fc.array(fc.integer({ min: 1, max: 100 }), { maxLength: 8 })),
});

function encode({ status, body, chunks }: Sent): Buffer {
  const head = (framing: string): Buffer =>
    Buffer.from(`HTTP/1.1 ${status} X\r\nContent-Type: text/plain\r\n${framing}\r\n\r\n`);
  if (chunks === null) return Buffer.concat([head(`content-length: ${body.length}`), body]);
  const parts: Buffer[] = [];
  for (let at = 0, i = 0; at < body.length; i++) {
    const part = body.subarray(at, at + (chunks[i] ?? body.length));
    at += part.length;
    parts.push(Buffer.from(`${part.length.toString(16)}\r\n`), Buffer.from(part), crlf);
  }
  return Buffer.concat([head('Transfer-Encoding: chunked'), ...parts, Buffer.from('0\r\n\r\n')]);
}

const crlf = Buffer.from('\r\n');

describe('AnswerReader', () => {
  it('reads the same answers however the bytes are split', () => {
    fc.assert(
      fc.property(
        fc.array(sent, { maxLength: 5 }),
        fc.array(fc.integer({ min: 1, max: 300 })),
        (answers, splits) => {
          const encoded = answers.map(encode);
          const wire = Buffer.concat(encoded);
          const reader = new AnswerReader();
          const read: { status: number; body: Buffer; bytes: number }[] = [];
          for (let at = 0, i = 0; at < wire.length; i++) {
            const chunk = wire.subarray(at, at + (splits[i] ?? wire.length));
            at += chunk.length;
            read.push(...reader.push(chunk));
          }
          const expected = answers.map(({ status, body }, i) => ({
            status,
            body: Buffer.from(body),
            bytes: encoded[i]?.length ?? 0,
          }));
          assert.deepEqual(read, expected);
        },
      ),
    );
  });

  it('throws on what is no answer', () => {
    assert.throws(() => new AnswerReader().push(Buffer.from('SSH-2.0-x\r\n\r\n')), /no answer/);
  });
});
