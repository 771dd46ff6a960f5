import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { X509Certificate } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { before, describe, it } from 'node:test';
import { promisify } from 'node:util';
import { cleanups } from '../support/cleanups.ts';
import { openDnsCommand } from '../support/dns-command.ts';
import { DnsServer } from '../support/dns-server.ts';
import { eventually, found } from '../support/eventually.ts';
import { Gangway } from '../support/gangway.ts';
import { Pebble } from '../support/pebble.ts';
import { freePort } from '../support/ports.ts';
import { needs, programPath } from '../support/programs.ts';

interface Domain {
  id: string;
  status: string;
  error: string | null;
  records: { type: 'A' | 'TXT'; name: string; value: string }[];
  certificate: { issuer: string; names: string[]; managed: boolean } | null;
}

const fields =
  '{ id status error records { type name value } certificate { issuer names managed } }';
const host = 'shop.example';

describe('HTTPS by a certificate authority', { skip: needs('pebble', 'openssl', 'curl') }, () => {
  const later = cleanups();
  let dns: DnsServer;
  let pebble: Pebble;
  let gangway: Gangway;
  let dir: string;
  const [edge, tls] = [{ port: 0 }, { port: 0 }];

  before(async () => {
    dir = mkdtempSync(join(tmpdir(), 'gangway-certificates-'));
    later(() => rmSync(dir, { recursive: true }));
    dns = await DnsServer.open();
    later(() => dns.close());
    edge.port = await freePort();
    tls.port = await freePort();
    pebble = await Pebble.open({ dns: dns.address, httpPort: edge.port });
    later(() => pebble.close());
    writeFileSync(join(dir, 'root.pem'), await pebble.root());
    const command = await openDnsCommand(dns);
    later(() => command.close());
    gangway = await Gangway.open({
      env: {
        GANGWAY_DNS_RESOLVERS: dns.address,
        GANGWAY_PUBLIC_ADDRESSES: '127.0.0.1',
        GANGWAY_EDGE_PORT: String(edge.port),
        GANGWAY_EDGE_TLS_PORT: String(tls.port),
        GANGWAY_ACME_DIRECTORY: pebble.directory,
        GANGWAY_ACME_CA: pebble.ca,
        GANGWAY_ACME_EMAIL: 'admin@shop.example',
        GANGWAY_ACME_DNS_COMMAND: command.path,
        GANGWAY_APPS_DOMAIN: 'apps.example',
      },
    });
    later(() => gangway.end());
  });

  const mutate = async (field: string): Promise<Domain> => {
    const answer = await gangway.client.must<Record<string, Domain>>(
      `mutation { ${field} ${fields} }`,
    );
    return Object.values(answer)[0] ?? assert.fail();
  };

  /** As curl sees it, by the root of the authority alone. */
  const visit = async (url: string): Promise<string> => {
    const { hostname } = new URL(url);
    const ports = [edge.port, tls.port].map((port) => `${hostname}:${String(port)}:127.0.0.1`);
    const args = ['-sS', '--cacert', join(dir, 'root.pem'), '-w', '\n%{http_code} %{redirect_url}'];
    for (const one of ports) args.push('--resolve', one);
    const curl = promisify(execFile);
    return (await curl(programPath('curl') ?? 'curl', [...args, url])).stdout;
  };

  it('comes by itself once a domain is verified, and ends with it', async () => {
    const { client } = gangway;
    const shop = await client.createApp('Shop of ours');
    const domain = await mutate(`addDomain(appId: "${shop.id}", host: "${host}")`);
    for (const { type, name, value } of domain.records) dns.set(type, name, value);
    const { status } = await mutate(`verifyDomain(id: "${domain.id}")`);
    assert.ok(status === 'issuing' || status === 'active', status);
    const read = async (): Promise<Domain | undefined> => {
      const { app } = await client.must<{ app: { domains: Domain[] } }>(
        `query($id: ID!) { app(id: $id) { domains ${fields} } }`,
        { id: shop.id },
      );
      return app.domains[0];
    };
    const active = await found('a certificate', async () => {
      const now = await read();
      return now?.certificate ? now : undefined;
    });
    assert.deepEqual([active.status, active.error], ['active', null]);
    assert.deepEqual([active.certificate?.names, active.certificate?.managed], [[host], true]);
    const secure = `https://${host}:${String(tls.port)}`;
    await eventually('the app over HTTPS', () =>
      visit(`${secure}/`).then(
        (text) => text.includes('Shop of ours') && text.includes('\n503'),
        () => false,
      ),
    );
    const plain = `http://${host}:${String(edge.port)}`;
    assert.match(await visit(`${plain}/a?b=1`), new RegExp(`\n308 ${secure}/a\\?b=1`));
    assert.match(
      await visit(`${plain}/.well-known/acme-challenge/token`),
      /^token\.[\w-]{43}\n200 /,
    );
    const { serialNumber } = new X509Certificate(await servedAt(tls.port, host));
    await client.must(`mutation { removeDomain(id: "${domain.id}") }`);
    await eventually('the end of the certificate', async () => {
      return (await pebble.statusOf(serialNumber)) === 'Revoked';
    });
  });

  it('serves the names that apps have from Gangway with one certificate', async () => {
    const { client } = gangway;
    const { id, slug } = await client.createApp('Ours below');
    const secure = `https://${slug}.apps.example:${String(tls.port)}`;
    await eventually('the address', async () => {
      const query = 'query($id: ID!) { app(id: $id) { url } }';
      return (await client.must<{ app: { url: string } }>(query, { id })).app.url === secure;
    });
    await eventually('the app over HTTPS', () =>
      visit(`${secure}/`).then(
        (text) => text.includes('Ours below') && text.includes('\n503'),
        () => false,
      ),
    );
    const plain = `http://${slug}.apps.example:${String(edge.port)}`;
    assert.match(await visit(`${plain}/a?b=1`), new RegExp(`\n308 ${secure}/a\\?b=1`));
  });
});

async function servedAt(port: number, servername: string): Promise<string> {
  const { connect } = await import('node:tls');
  return new Promise((resolve, reject) => {
    const socket = connect({ host: '127.0.0.1', port, servername, rejectUnauthorized: false });
    socket.once('error', reject).once('secureConnect', () => {
      const { raw } = socket.getPeerCertificate();
      socket.destroy();
      resolve(new X509Certificate(raw).toString());
    });
  });
}
