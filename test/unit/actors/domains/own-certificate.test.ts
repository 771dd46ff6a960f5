import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import { after, before, describe, it } from 'node:test';

import { checkCertificate } from '../../../../src/actors/domains/own-certificate.ts';
import type { EdgeCertificate } from '../../../../src/protocol/workload.ts';
import { CertificateAuthority } from '../../../support/certificate-authority.ts';
import { needs } from '../../../support/programs.ts';

const dayMs = 24 * 60 * 60_000;

describe('checkCertificate()', { skip: needs('openssl') }, () => {
  let root: CertificateAuthority;
  let middle: CertificateAuthority;
  before(() => {
    root = new CertificateAuthority();
    middle = new CertificateAuthority(root);
  });
  after(() => {
    root.close();
    middle.close();
  });

  const check = (
    { chain: certificate, key: privateKey }: Pick<EdgeCertificate, 'chain' | 'key'>,
    host = 'shop.example',
    inMs = 60_000,
  ) => checkCertificate({ certificate, privateKey }, host, Date.now() + inMs);
  const refuses = (code: string, ...given: Parameters<typeof check>): void => {
    assert.throws(() => check(...given), { name: 'ServiceError', code });
  };

  it('takes a chain and its key, and keeps nothing else of the texts', () => {
    const issued = middle.issue(['shop.example', '*.shop.example']);
    const given = { chain: `words\n${issued.chain}more`, key: issued.key };
    const checked = check(given);
    assert.deepEqual(checked.names, ['shop.example', '*.shop.example']);
    assert.equal(checked.chain, issued.chain);
    assert.match(checked.key, /^-----BEGIN PRIVATE KEY-----\n/);
    assert.match(checked.issuer, /^authority /);
    assert.ok(Math.abs(checked.notAfterMs - Date.now() - 3 * dayMs) < dayMs);
    check(issued, '*.shop.example');
    check(issued, 'www.shop.example');
  });

  it('refuses a certificate for other hosts', () => {
    const issued = root.issue(['shop.example', '*.more.example']);
    const others = ['www.shop.example', '*.shop.example', 'more.example', 'a.b.more.example'];
    for (const host of others) refuses('CERTIFICATE_HOST_MISMATCH', issued, host);
  });

  it('refuses what has run out, or is not good yet', () => {
    const issued = middle.issue(['shop.example']);
    refuses('CERTIFICATE_EXPIRED', issued, 'shop.example', 4 * dayMs);
    refuses('CERTIFICATE_EXPIRED', issued, 'shop.example', -dayMs);
  });

  it('takes the keys that browsers take', () => {
    check(root.issue(['shop.example'], 'rsa2048'));
    for (const kind of ['rsa1024', 'p521', 'ed25519'] as const)
      refuses('CERTIFICATE_INVALID', root.issue(['shop.example'], kind));
  });

  it('refuses a key that is another one, has a passphrase, or is none', () => {
    const { chain, key } = root.issue(['shop.example']);
    refuses('CERTIFICATE_KEY_MISMATCH', { chain, key: root.issue(['shop.example']).key });
    const sealed = generateKeyPairSync('ec', {
      namedCurve: 'P-256',
      publicKeyEncoding: { type: 'spki', format: 'pem' },
      privateKeyEncoding: { type: 'pkcs8', format: 'pem', cipher: 'aes-256-cbc', passphrase: 'x' },
    });
    refuses('CERTIFICATE_INVALID', { chain, key: sealed.privateKey });
    refuses('CERTIFICATE_INVALID', { chain, key: chain });
    refuses('CERTIFICATE_INVALID', { chain, key: key + ' '.repeat(20_000) });
  });

  it('refuses a chain that is broken, in another order, too long, or none', () => {
    const { chain, key } = middle.issue(['shop.example']);
    const [leaf = '', above = ''] =
      chain.match(/-----BEGIN[^-]+-----[^-]+-----END[^-]+-----\n/g) ?? [];
    refuses('CERTIFICATE_INVALID', { chain: leaf + root.root, key });
    refuses('CERTIFICATE_INVALID', { chain: leaf + leaf, key });
    refuses('CERTIFICATE_KEY_MISMATCH', { chain: above + leaf, key });
    refuses('CERTIFICATE_INVALID', { chain: leaf + above.repeat(10), key });
    refuses('CERTIFICATE_INVALID', { chain: leaf.replace(/[A-Z]{4}/, '!!!!'), key });
    refuses('CERTIFICATE_INVALID', { chain: '', key });
    check({ chain: leaf + above + root.root, key });
  });
});
