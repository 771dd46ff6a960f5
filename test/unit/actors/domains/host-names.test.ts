import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { checkHost, claimsAbove } from '../../../../src/actors/domains/host-names.ts';

const own = { panel: 'panel.acme.example', appsDomain: 'apps.acme.example' };

describe('checkHost()', () => {
  for (const [given, host] of [
    [' Shop.Example.com. ', 'shop.example.com'],
    ['*.Example.com', '*.example.com'],
    ['bücher.example', 'xn--bcher-kva.example'],
    ['*.bücher.example', '*.xn--bcher-kva.example'],
    ['xn--bcher-kva.example', 'xn--bcher-kva.example'],
    ['acme.example', 'acme.example'],
    ['notapps.acme.example', 'notapps.acme.example'],
    ['*.panel.acme.example', '*.panel.acme.example'],
    [`${'a'.repeat(63)}.example`, `${'a'.repeat(63)}.example`],
  ] as const) {
    it(`takes ${given.slice(0, 30)} for ${host.slice(0, 30)}`, () => {
      assert.equal(checkHost(given, own), host);
    });
  }

  // prettier-ignore
  for (const given of [
    '', '.', '*', '*.', '*.*.example.com', 'a.*.example.com', 'shop', 'localhost', '127.0.0.1', '1.2', '0x7f.1', 'shop.1',
    '::1', '[::1]', 'shop.example.com:80', 'https://shop.example.com', 'shop.example.com/a', 'a@example.com',
    'a b.example', 'a\u3002', 'a..example', '-a.example', 'a-.example', 'a_b.example', 'a%2e.example', 'xn--0.example',
    `${'a'.repeat(64)}.example`, `${'a.'.repeat(126)}example`, 'a\0.example', 'a\n.example', 'shop.example.com?',
    // The instance's own.
    'panel.acme.example', 'PANEL.acme.example.', 'apps.acme.example', 'a.apps.acme.example', '*.apps.acme.example',
    'a.b.apps.acme.example', '*.a.apps.acme.example', '*.acme.example',
  ]) {
    it(`refuses ${JSON.stringify(given).slice(0, 30)}`, () => {
      assert.throws(() => checkHost(given, own), { code: 'BAD_USER_INPUT' });
    });
  }
});

describe('claimsAbove()', () => {
  it('names the host and what it is below, down to two labels', () => {
    // prettier-ignore
    const names = [
      'a.b.example', '*.a.b.example', 'b.example', '*.b.example',
    ];
    assert.deepEqual(claimsAbove('a.b.example'), names);
    assert.deepEqual(claimsAbove('*.a.b.example'), names);
  });
});
