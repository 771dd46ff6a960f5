import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import {
  isWellFormedToken,
  newTokenSecret,
  tokenHash,
} from '../../src/auth/callers/token-codec.ts';

const characters = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';

describe('token codec', () => {
  it('makes tokens that are gwy_ and 40 base62 characters, well formed, never twice', () => {
    const made = Array.from({ length: 500 }, () => newTokenSecret());
    for (const secret of made) {
      assert.match(secret, /^gwy_[0-9A-Za-z]{40}$/);
      assert.ok(isWellFormedToken(secret));
    }
    assert.equal(new Set(made).size, made.length);
  });

  it('tells a token with any one character changed from a token', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 4, max: 43 }),
        fc.constantFrom(...characters.split('')),
        (position, character) => {
          const secret = newTokenSecret();
          fc.pre(secret.charAt(position) !== character);
          const changed = secret.slice(0, position) + character + secret.slice(position + 1);
          assert.equal(isWellFormedToken(changed), false);
        },
      ),
    );
  });

  it('refuses any other text without throwing', () => {
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.string({ minLength: 40, maxLength: 40 })), (text) => {
        assert.equal(isWellFormedToken(text), false);
        assert.equal(isWellFormedToken(`gwy_${text}`), false);
      }),
    );
  });

  it('stores 64 hex characters that say nothing of the token', () => {
    const secret = newTokenSecret();
    assert.match(tokenHash(secret), /^[0-9a-f]{64}$/);
    assert.equal(tokenHash(secret), tokenHash(secret));
  });
});
