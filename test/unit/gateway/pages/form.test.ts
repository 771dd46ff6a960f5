import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { pathOnSite } from '../../../../src/gateway/pages/form.ts';

const origin = 'https://panel.example.com';

describe('pathOnSite()', () => {
  it('keeps a path of this site with its query and fragment', () => {
    for (const path of ['/', '/apps', '/apps?x=%2F%2Fa&y=//b', '/a//b', '/apps#top']) {
      assert.equal(pathOnSite(path, '/else'), path);
    }
  });

  it('gives a path as browsers resolve it', () => {
    assert.equal(pathOnSite('/a/../b', '/else'), '/b');
    assert.equal(pathOnSite('/a\\b', '/else'), '/a/b');
    assert.equal(pathOnSite('/\r\nSet-Cookie: a=b', '/else'), '/Set-Cookie:%20a=b');
  });

  it('takes nothing that leads elsewhere', () => {
    const elsewhere = [
      null,
      '',
      'apps',
      '//evil.example',
      '///evil.example',
      '/\\evil.example',
      '/\t/evil.example',
      '/\n\\evil.example',
      '/.//evil.example',
      '/a/..//evil.example',
      '/%2e//evil.example',
      ' //evil.example',
      'https://evil.example/',
      'javascript:alert(1)',
      '\\\\evil.example',
    ];
    for (const path of elsewhere) assert.equal(pathOnSite(path, '/else'), '/else', String(path));
  });

  it('never leads to another origin, whatever is given', () => {
    const part = fc.constantFrom(
      ...['/', '\\', '.', ':', '@', '?', '#', '%', '\t', '\n', '\r', ' '],
      '%2e',
      '%2f',
      '..',
      'evil.example',
      'a',
    );
    fc.assert(
      fc.property(fc.array(part, { maxLength: 8 }), (parts) => {
        const path = pathOnSite(`/${parts.join('')}`, '/else');
        assert.equal(new URL(path, origin).origin, origin);
        // And once more, as a browser that was given it asks for it again.
        assert.equal(pathOnSite(path, '/else'), path);
      }),
      { numRuns: 2_000 },
    );
  });
});
