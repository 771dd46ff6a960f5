import assert from 'node:assert/strict';
import { X509Certificate } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { rootCertificates } from 'node:tls';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { ConfigError, resolveConfig } from '../../../src/config.ts';
import { acmeSettings, appsWildcard } from '../../../src/service/acme-settings.ts';

const directory = 'https://ca.example/directory';
const least = { GANGWAY_EDGE_TLS_PORT: '443', GANGWAY_ACME_DIRECTORY: directory };
const settingsOf = (env: Record<string, string>) => acmeSettings(resolveConfig(env).config);

describe('acmeSettings()', () => {
  it('gives the order its settings from the configuration', (t) => {
    const dir = mkdtempSync(join(tmpdir(), 'gangway-acme-settings-'));
    t.after(() => rmSync(dir, { recursive: true }));
    assert.equal(settingsOf({}), null);
    const none = { email: null, binding: null, ca: null, dnsCommand: null };
    assert.deepEqual(settingsOf(least), { directory, ...none });
    const ca = rootCertificates
      .slice(0, 2)
      .map((one) => new X509Certificate(one).toString())
      .join('');
    writeFileSync(join(dir, 'ca.pem'), `# Ours\n${ca}`);
    const acme = {
      ...{ directory, email: 'admin@shop.example', eab: 'kid-1:zWNDZM6eQGHWpSRTPal5eIUYFTu7' },
      ...{ ca: join(dir, 'ca.pem'), dnsCommand: '/usr/local/bin/dns' },
    };
    writeFileSync(join(dir, 'config.json'), JSON.stringify({ edgeTlsPort: 443, acme }));
    assert.deepEqual(settingsOf({ GANGWAY_CONFIG: join(dir, 'config.json') }), {
      ...{ directory, email: acme.email, dnsCommand: acme.dnsCommand, ca },
      binding: { kid: 'kid-1', key: 'zWNDZM6eQGHWpSRTPal5eIUYFTu7' },
    });
    assert.equal(settingsOf({ ...least, GANGWAY_ACME_CA: ca })?.ca, ca);
  });

  it('refuses what is wrong, or has no effect, and shows no key', () => {
    const wrong = {
      GANGWAY_ACME_DIRECTORY: 'http://ca.example/directory',
      GANGWAY_ACME_EMAIL: 'nobody',
      GANGWAY_ACME_EAB: 'kid:short',
      GANGWAY_ACME_CA: '/nowhere/ca.pem',
      GANGWAY_ACME_DNS_COMMAND: 'dns',
    };
    for (const [name, value] of Object.entries(wrong)) {
      const refusal = (error: unknown): boolean => {
        assert.ok(error instanceof ConfigError && error.message.includes(name));
        return name !== 'GANGWAY_ACME_EAB' || !error.message.includes('short');
      };
      assert.throws(() => settingsOf({ ...least, [name]: value }), refusal);
    }
    const idle = { GANGWAY_ACME_EMAIL: 'admin@shop.example' };
    assert.throws(() => settingsOf(idle), /acme\.email.*has no effect without "acme\.directory"/);
    const plain = { GANGWAY_ACME_DIRECTORY: directory };
    assert.throws(() => settingsOf(plain), /acme\.directory.*without "edgeTlsPort"/);
  });
});

describe('appsWildcard()', () => {
  const all = {
    ...least,
    GANGWAY_ACME_DNS_COMMAND: '/usr/local/bin/dns',
    GANGWAY_APPS_DOMAIN: 'apps.example.com',
  };
  const of = (env: Record<string, string>) => appsWildcard(resolveConfig(env).config);

  it('stands for all names of apps where they can be certified', () => {
    assert.equal(of(all), '*.apps.example.com');
    for (const name of ['localhost', 'apps.localhost', 'intranet', '127.0.0.1']) {
      assert.equal(of({ ...all, GANGWAY_APPS_DOMAIN: name }), null, name);
    }
  });

  it('is none without an authority, or the program that proves a wildcard', () => {
    assert.equal(of({ ...all, GANGWAY_ACME_DNS_COMMAND: '' }), null);
    const { GANGWAY_APPS_DOMAIN } = all;
    assert.equal(of({ GANGWAY_APPS_DOMAIN, GANGWAY_EDGE_TLS_PORT: '443' }), null);
  });
});
