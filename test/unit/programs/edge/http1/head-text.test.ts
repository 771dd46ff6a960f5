import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';

import { HeadText, type HeadState } from '../../../../../src/programs/edge/http1/head-text.ts';
import { requestLine } from '../../../../../src/programs/edge/http1/request-head.ts';

const line = 'GET / HTTP/1.1\r\n';

/** `cut`: how much comes at once. */
function read(text: string, cut = text.length, firstLine = requestLine): HeadText {
  const bytes = Buffer.from(text, 'latin1');
  const head = new HeadText(firstLine);
  for (let at = 0; at < bytes.length && head.state === 'partial'; at += cut)
    head.read(bytes, at, Math.min(at + cut, bytes.length));
  return head;
}

describe('HeadText', () => {
  it('says the same however a head is cut', () => {
    const heads: Readonly<Record<string, HeadState>> = {
      'GET / HT': 'partial',
      [line]: 'partial',
      [`${line}Host: a\r\n\r\n`]: 'whole',
      [`${line}Host: a\r\n\r\nbody\n`]: 'whole',
      [`${line}Host: a\nX: y`]: 'malformed',
      ['GET / HTTP/1.1\n']: 'malformed',
      ['GET / HTTP/2.0\r\nHost']: 'malformed',
      ['\nGET']: 'malformed',
      [`${line}X: ${'y'.repeat(40_000)}`]: 'too-long',
    };
    for (const [text, state] of Object.entries(heads))
      for (const cut of [1, 2, 3, 16, 4096]) assert.equal(read(text, cut).state, state, text);
  });

  it('ends with the empty line, wherever that is cut', () => {
    const fields = fc.array(fc.constantFrom('X: y', 'A: \xff', 'Long: '.padEnd(3000, 'z')));
    fc.assert(
      fc.property(fields, fc.integer({ min: 1, max: 3000 }), (lines, cut) => {
        const head = `${line}${lines.map((one) => `${one}\r\n`).join('')}\r\n`;
        fc.pre(head.length <= 32 * 1024);
        const got = read(`${head}rest`, cut);
        assert.deepEqual([got.state, got.text], ['whole', head]);
      }),
    );
  });

  it('looks at the first line once, however much comes behind it byte by byte', () => {
    let looks = 0;
    const counting = Object.assign(new RegExp(requestLine), {
      test(text: string): boolean {
        looks++;
        return requestLine.test(text);
      },
    });
    const head = read(`${line}${'X: y\r\n'.repeat(1000)}`, 1, counting);
    assert.deepEqual([head.state, looks], ['partial', 1]);
  });
});
