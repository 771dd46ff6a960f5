import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { hasBase64Run } from '../../../../src/mcp/redaction/base64-runs.ts';

describe('hasBase64Run', () => {
  it('finds what a regular expression finds, wherever a run begins and ends', () => {
    const part = fc.oneof(
      fc.string({ unit: fc.constantFrom('a', 'Z', '0', '9', '+', '/'), maxLength: 12 }),
      fc.constantFrom('"', '=', '-', 'é', '\u0141', '\n', ' ', ''),
    );
    const text = fc.array(part, { maxLength: 12 }).map((parts) => parts.join(''));
    fc.assert(
      fc.property(text, fc.integer({ min: 1, max: 20 }), (shown, letters) => {
        const expected = new RegExp(`[0-9A-Za-z+/]{${letters}}`).test(shown);
        assert.equal(hasBase64Run(shown, letters), expected);
      }),
    );
  });

  it('tells a run of exactly so many letters from one that lacks a letter', () => {
    for (const before of ['', '"', 'abc"', 'x'.repeat(63) + '"']) {
      assert.equal(hasBase64Run(`${before}${'A'.repeat(64)}"`, 64), true);
      assert.equal(hasBase64Run(`${before}${'A'.repeat(63)}"`, 64), false);
    }
  });
});
