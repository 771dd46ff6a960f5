import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { previewSlugOf, slugAttempt, slugOf } from '../../../../../src/actors/app/settings/slug.ts';

const label = /^[a-z0-9]([a-z0-9-]{0,48}[a-z0-9])?$/;

describe('slugOf()', () => {
  it('makes a label of a name', () => {
    assert.equal(slugOf('My Shop'), 'my-shop');
    assert.equal(slugOf('  Straße & Œuvre — Ünïque! '), 'strasse-uvre-unique');
    assert.equal(slugOf('日本'), 'app');
    assert.equal(slugOf('xn--evil'), 'xn-evil');
  });

  it('makes a DNS label of anything, also at a later attempt', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), fc.integer({ min: 1, max: 9999 }), (name, n) => {
        assert.match(slugAttempt(slugOf(name), n), label);
      }),
    );
  });
});

describe('previewSlugOf()', () => {
  it('is branch and app, and a label also for the longest of both', () => {
    assert.equal(previewSlugOf('feat/New-Cart', 'shop'), 'feat-new-cart-shop');
    const app = 'a'.repeat(50);
    const long = ['x'.repeat(255), `${'x'.repeat(254)}y`, `${'-/'.repeat(100)}z`, 'ü'.repeat(120)];
    const slugs = long.map((branch) => previewSlugOf(branch, app));
    assert.equal(new Set(slugs).size, long.length);
    for (const slug of slugs) assert.match(slug, /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])$/);
    assert.equal(slugAttempt(slugs[0] ?? '', 12, 63).length, 63);
  });
});
