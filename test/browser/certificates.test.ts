/** What people's programs say to a certificate that Gangway got: they know nothing but the root of its authority. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { before, describe, it, type TestContext } from 'node:test';
import { promisify } from 'node:util';
import type { Page } from 'playwright-core';
import { complaintsOf, openBrowser, trustIn } from '../support/browser.ts';
import { cleanups } from '../support/cleanups.ts';
import { DnsServer, type DnsType } from '../support/dns-server.ts';
import { eventually } from '../support/eventually.ts';
import { archiveOf } from '../support/gangway-client.ts';
import { Gangway } from '../support/gangway.ts';
import { Pebble } from '../support/pebble.ts';
import { freePort } from '../support/ports.ts';
import { needs, programPath } from '../support/programs.ts';

interface Domain {
  id: string;
  records: { type: DnsType; name: string; value: string }[];
  certificate: object | null;
}

const host = 'shop.example';
const shop = archiveOf({
  Procfile: 'web: node server.js',
  'server.js': `
    require('node:http').createServer((req, res) => {
      res.setHeader('content-type', 'text/html');
      req.on('data', (bytes) => res.write(bytes)).on('end', () => res.end('<title>Shop</title>'));
    }).listen(process.env.PORT);`,
});
const wanted = needs('pebble', 'openssl', 'certutil', 'chromium', 'curl');

describe('a certificate that was issued for a domain', { skip: wanted }, () => {
  const later = cleanups();
  let home: string;
  let plain: string;
  let secure: string;
  before(async () => {
    home = mkdtempSync(join(tmpdir(), 'gangway-home-'));
    later(() => rmSync(home, { recursive: true }));
    const dns = await DnsServer.open();
    later(() => dns.close());
    const [edgePort, tlsPort] = [await freePort(), await freePort()];
    plain = `http://${host}:${String(edgePort)}`;
    secure = `https://${host}:${String(tlsPort)}`;
    const pebble = await Pebble.open({ dns: dns.address, httpPort: edgePort });
    later(() => pebble.close());
    const root = await pebble.root();
    trustIn(home, root);
    writeFileSync(join(home, 'root.pem'), root);
    const gangway = await Gangway.open({
      env: {
        GANGWAY_DNS_RESOLVERS: dns.address,
        GANGWAY_PUBLIC_ADDRESSES: '127.0.0.1',
        GANGWAY_EDGE_PORT: String(edgePort),
        GANGWAY_EDGE_TLS_PORT: String(tlsPort),
        GANGWAY_ACME_DIRECTORY: pebble.directory,
        GANGWAY_ACME_CA: pebble.ca,
      },
    });
    later(() => gangway.end());
    const { client } = gangway;
    const { id } = await client.runningApp('Shop', shop);
    const mutate = async (field: string): Promise<Domain> => {
      const fields = '{ id records { type name value } certificate { issuer } }';
      const answer = await client.must<Record<string, Domain>>(`mutation { ${field} ${fields} }`);
      return Object.values(answer)[0] ?? assert.fail();
    };
    const domain = await mutate(`addDomain(appId: "${id}", host: "${host}")`);
    for (const { type, name, value } of domain.records) dns.set(type, name, value);
    const verify = () => mutate(`verifyDomain(id: "${domain.id}")`);
    await eventually('a certificate', async () => (await verify()).certificate !== null);
  });

  const pageOf = async (t: TestContext, trusting?: string): Promise<Page> => {
    const browser = await openBrowser([host], trusting);
    t.after(() => browser.close());
    return browser.newPage();
  };

  it('is taken by Chromium, which comes by HTTP, is led to HTTPS and speaks HTTP/2', async (t) => {
    const page = await pageOf(t, home);
    const complaints = complaintsOf(page, /favicon/);
    const answer = await page.goto(`${plain}/cart?of=me`);
    assert.equal(page.url(), `${secure}/cart?of=me`);
    assert.equal(await page.title(), 'Shop');
    const before = answer?.request().redirectedFrom();
    assert.equal(before?.url(), `${plain}/cart?of=me`);
    assert.equal((await before.response())?.status(), 308);
    const details = await answer?.securityDetails();
    assert.equal(details?.protocol, 'TLS 1.3');
    assert.match(details.issuer ?? '', /^Pebble Intermediate/);
    const protocols =
      'performance.getEntriesByType("navigation").map((one) => one.nextHopProtocol)';
    assert.deepEqual(await page.evaluate(protocols), ['h2']);
    const sent = 'fetch("/", { method: "POST", body: "of a page " }).then((a) => a.text())';
    assert.equal(await page.evaluate(sent), 'of a page <title>Shop</title>');
    assert.equal(await page.evaluate('isSecureContext'), true);
    assert.deepEqual(complaints, []);
  });

  it('is taken by Chromium for no other reason than its root', async (t) => {
    const page = await pageOf(t);
    await assert.rejects(page.goto(secure), /ERR_CERT_AUTHORITY_INVALID/);
  });

  it('is taken by curl, which is led there, too', async () => {
    const resolved = [plain, secure].map((url) => `${new URL(url).host}:127.0.0.1`);
    const args = ['-sSL', '--http2', '--cacert', join(home, 'root.pem')];
    for (const one of resolved) args.push('--resolve', one);
    args.push('-w', '\n%{http_version} %{http_code} %{url_effective}', `${plain}/cart`);
    const { stdout } = await promisify(execFile)(programPath('curl') ?? 'curl', args);
    assert.equal(stdout, `<title>Shop</title>\n2 200 ${secure}/cart`);
  });
});
