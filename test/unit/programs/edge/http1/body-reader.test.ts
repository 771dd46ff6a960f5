import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';

import { BodyReader } from '../../../../../src/programs/edge/http1/body-reader.ts';
import type { Framing } from '../../../../../src/programs/edge/http1/framing.ts';

interface Read {
  data: string;
  trailers: string;
  end: 'whole' | 'malformed' | 'open';
  /** What came behind the body. */
  rest: number;
}

/** `cuts`: the lengths of what comes at once; the rest comes at the end. */
function read(framing: Framing, text: string, cuts: readonly number[] = []): Read {
  const body = new BodyReader(framing);
  const bytes = Buffer.from(text, 'latin1');
  let [data, at] = ['', 0];
  for (const cut of [...cuts, bytes.length]) {
    const end = Math.min(at + cut, bytes.length);
    while (at < end && !body.isWhole && !body.isMalformed) {
      at = body.read(bytes, at, end);
      data += bytes.toString('latin1', body.from, body.to);
    }
  }
  const end = body.isWhole ? 'whole' : body.isMalformed ? 'malformed' : 'open';
  return { data, trailers: body.trailers, end, rest: bytes.length - at };
}

describe('BodyReader', () => {
  it('reads chunks, however they are cut', () => {
    const chunks = fc.array(fc.string({ minLength: 1, maxLength: 300, unit: 'binary-ascii' }));
    const cuts = fc.array(fc.integer({ min: 1, max: 40 }));
    fc.assert(
      fc.property(chunks, cuts, fc.boolean(), (texts, lengths, hasTrailer) => {
        const lines = texts.map((text) => `${text.length.toString(16)};x=y\r\n${text}\r\n`);
        const trailers = hasTrailer ? 'X-Sum: 1\r\n' : '';
        const message = `${lines.join('')}0\r\n${trailers}\r\nGET`;
        const expected = { data: texts.join(''), trailers, end: 'whole', rest: 3 };
        assert.deepEqual(read('chunked', message, lengths), expected);
      }),
    );
  });

  it('refuses what two parsers could read differently', () => {
    const sizes = ['', ' 5', '5 ', '+5', '-5', '0x5', '5\n', '5\r', 'g', '5 ;x', '1'.repeat(14)];
    const bodies = sizes.map((size) => `${size}\r\nhello\r\n0\r\n\r\n`);
    bodies.push('5\r\nhello0\r\n\r\n', '5\r\nhello\n0\r\n\r\n', '5;a\nb\r\nhello\r\n0\r\n\r\n');
    bodies.push('0\r\nX : y\r\n\r\n', '0\r\nX: y\nZ: 1\r\n\r\n', '0\r\n X: y\r\n\r\n');
    for (const body of bodies) assert.equal(read('chunked', body).end, 'malformed', body);
  });

  it('bounds extensions and trailers', () => {
    const extended = `1;${'x'.repeat(9000)}\r\na\r\n`;
    assert.equal(read('chunked', `${extended}0\r\n\r\n`).end, 'whole');
    assert.equal(read('chunked', `${extended}${extended}0\r\n\r\n`).end, 'malformed');
    assert.equal(read('chunked', `0\r\nX: ${'x'.repeat(9000)}\r\n\r\n`).end, 'malformed');
  });

  it('drops trailers that would say what the head has to', () => {
    const forbidden = ['Content-Length: 5', 'Host: b', 'X-Forwarded-For: 1', 'a_b: 1', 'Cookie: a'];
    const { trailers } = read('chunked', `0\r\n${forbidden.join('\r\n')}\r\nX-Sum: 1\r\n\r\n`);
    assert.equal(trailers, 'X-Sum: 1\r\n');
  });

  it('takes as many bytes as are told, or all', () => {
    assert.deepEqual(read(3, 'abcdef', [1, 1]), {
      data: 'abc',
      trailers: '',
      end: 'whole',
      rest: 3,
    });
    assert.equal(read(0, 'abc').rest, 3);
    assert.deepEqual(read('until-close', 'abc', [1]).data, 'abc');
    assert.equal(read('until-close', 'abc').end, 'open');
  });
});
