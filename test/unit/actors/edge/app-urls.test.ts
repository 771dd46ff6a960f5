import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { urlsOf } from '../../../../src/actors/edge/app-urls.ts';
import type { AppHost } from '../../../../src/store/records/records.ts';

const at = {
  ...{ appsDomain: 'apps.test', edgePort: 3080, edgeTlsPort: null },
  hasAppsCertificate: false,
};
const of = (hosts: AppHost[] | undefined, edge = {}): string[] =>
  urlsOf({ slug: 'shop', ...(hosts && { hosts }) }, { ...at, ...edge });

describe('urlsOf()', () => {
  it('names the active domains that answer, and then its own name', () => {
    assert.deepEqual(of(undefined), ['http://shop.apps.test:3080']);
    const hosts: AppHost[] = [
      { host: 'pending.example' },
      { host: 'shop.example', isActive: true },
      { host: 'www.shop.example', isActive: true, redirectTo: 'shop.example' },
      { host: '*.shop.example', isActive: true },
      { host: 'b.example', isActive: true },
    ];
    assert.deepEqual(of(hosts), [
      'http://shop.example:3080',
      'http://b.example:3080',
      'http://shop.apps.test:3080',
    ]);
  });

  it('says https where there is a certificate and HTTPS is served, and no usual port', () => {
    const hosts: AppHost[] = [
      { host: 'shop.example', isActive: true, hasCertificate: true },
      { host: 'b.example', isActive: true },
    ];
    const [own, b] = ['http://shop.apps.test', 'http://b.example'];
    assert.deepEqual(of(hosts, { edgePort: 80 }), ['http://shop.example', b, own]);
    const tls = { edgePort: 80, edgeTlsPort: 443 };
    assert.deepEqual(of(hosts, tls), ['https://shop.example', b, own]);
    assert.equal(of(hosts, { edgeTlsPort: 8443 })[0], 'https://shop.example:8443');
  });

  it('says https of its own name where one certificate serves them all', () => {
    const hosts: AppHost[] = [{ host: 'b.example', isActive: true }];
    const secure = { edgePort: 80, edgeTlsPort: 443, hasAppsCertificate: true };
    assert.deepEqual(of(hosts, secure), ['http://b.example', 'https://shop.apps.test']);
    assert.deepEqual(of(undefined, secure), ['https://shop.apps.test']);
    const off = { ...secure, edgeTlsPort: null };
    assert.deepEqual(of(undefined, off), ['http://shop.apps.test']);
  });
});
