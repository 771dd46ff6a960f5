import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { matcherOf } from '../../../../src/logs/search/matcher.ts';

const expression = (text: string) => matcherOf({ text, regex: true, caseSensitive: false });
const plain = (text: string, caseSensitive = false) =>
  matcherOf({ text, regex: false, caseSensitive });

describe('matcherOf()', () => {
  it('takes a text as it is, in any case unless its case counts', () => {
    assert.ok(plain('error (4.5)').matches('An ERROR (4.5) came'));
    assert.ok(!plain('4.5').matches('405'));
    assert.ok(!plain('Error', true).matches('error'));
    assert.ok(plain('ÜBER').matches('über'));
  });

  it('passes over bytes without the text, unless colours may stand within it', () => {
    assert.equal(plain('error').mayHold(Buffer.from('all is well')), false);
    assert.equal(plain('error').mayHold(Buffer.from('An ERROR')), true);
    assert.equal(plain('error').mayHold(Buffer.from('er\u001b[31mror')), true);
    assert.equal(plain('über').mayHold(Buffer.from('all is well')), true);
  });

  it('refuses what it cannot look for, each with a sentence', () => {
    for (const [text, said] of [
      ['', /1 to 500/],
      ['a'.repeat(501), /1 to 500/],
      ['(a', /a \( has no \)/],
      ['a)', /a \) has no \(/],
      ['[a', /a \[ has no \]/],
      ['[z-a]', /out of order/],
      ['a{3,2}', /out of order/],
      ['a{2000}', /1000 at most/],
      ['*a', /nothing that \* could repeat/],
      ['a**', /behind another/],
      ['(?=a)', /ahead or behind/],
      ['(?<!a)', /ahead or behind/],
      ['(a)\\1', /references/],
      ['\\q', /not known/],
      ['a\\', /ends with a/],
      ['\\xg1', /hexadecimal/],
      ['('.repeat(60), /nest deeper/],
      ['(a{1000}){1000}', /too long/],
      ['((){1000}){1000}', /too long/],
    ] as const) {
      assert.throws(() => expression(text), { code: 'BAD_USER_INPUT', message: said }, text);
    }
  });

  it('looks through a long line once, whatever the expression', () => {
    const line = `${'a'.repeat(1024 * 1024)}!`;
    // Each takes longer than the universe is old where what did not match is tried again.
    for (const text of ['(a+)+$', '^(a|a)*$', '(a*)*b', '(a|aa)+$', '^(a?){50}b']) {
      assert.equal(expression(text).matches(line), false, text);
    }
    assert.equal(expression('(a+)+!$').matches(line), true);
  });

  it('forgets states beyond a bound and finds the same', () => {
    // It has a state for each of the last twelve characters that were a or b.
    const matcher = expression('a[ab]{12}c');
    let random = 7;
    let text = '';
    for (let i = 0; i < 20_000; i++) {
      random = (random * 1_103_515_245 + 12_345) % 2 ** 31;
      text += random % 3 === 0 ? 'a' : 'b';
    }
    assert.equal(matcher.matches(text), false);
    assert.equal(matcher.matches(`${text}abbbbbbbbbbbbc${text}`), true);
  });
});
