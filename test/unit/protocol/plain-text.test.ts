import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { plainText } from '../../../src/protocol/plain-text.ts';

describe('plainText()', () => {
  it('leaves out what a terminal obeys', () => {
    assert.equal(
      plainText('\u001b[1;31mred\u001b[0m and \u001b]8;;http://x\u0007link'),
      'red and link',
    );
    assert.equal(plainText('\u001b]0;title\u001b\\shown\u001bM'), 'shown');
    assert.equal(plainText('10%\r20%\ttab\u0000'), '10% 20%\ttab\ufffd');
  });

  it('leaves other text as it is', () => {
    const text = '{"a": "ünï 👩‍👩‍👧 [31m"}';
    assert.equal(plainText(text), text);
  });

  it('leaves no control character but tabs, and changes nothing twice', () => {
    const unit = fc.constantFrom('\u001b', '[', ']', '3', ';', 'm', '\u0007', '\\', '\u009b', 'é', '\t'); // prettier-ignore
    fc.assert(
      fc.property(fc.string({ unit }), (line) => {
        const plain = plainText(line);
        assert.doesNotMatch(plain, /[^\P{Cc}\t]/u);
        assert.equal(plainText(plain), plain);
      }),
    );
  });
});
