import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { generateKeyPairSync, X509Certificate } from 'node:crypto';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { before, describe, it } from 'node:test';
import { dnsAnswer, thumbprintOf } from '../../../src/acme/account-key.ts';
import { AcmeClient, type AcmeClientOptions } from '../../../src/acme/client.ts';
import { certificateRequest } from '../../../src/lib/certificate-request.ts';
import { CaConnection } from '../../../src/acme/connection.ts';
import { CaRefusal, CaUnavailable } from '../../../src/acme/failures.ts';
import { issuedChain } from '../../../src/acme/issued-chain.ts';
import { obtainCertificate, type OrderOptions } from '../../../src/acme/order.ts';
import { AddressPolicy } from '../../../src/lib/address-policy.ts';
import { systemClock } from '../../../src/lib/clock.ts';
import { GuardedFetch } from '../../../src/lib/guarded-fetch.ts';
import { cleanups } from '../../support/cleanups.ts';
import { DnsServer } from '../../support/dns-server.ts';
import { Pebble, type PebbleOptions } from '../../support/pebble.ts';
import { needs, programPath } from '../../support/programs.ts';

const newKey = () => generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey;
const fetch = new GuardedFetch({ policy: new AddressPolicy({ privateNetworks: [] }) });
const never = new AbortController().signal;

it(
  'certificateRequest() makes what OpenSSL takes, for several names and for long ones',
  {
    skip: needs('openssl'),
  },
  () => {
    const names = ['shop.example', '*.shop.example', `${'a'.repeat(63)}.${'b'.repeat(63)}.example`];
    const input = certificateRequest(names, newKey());
    const args = ['req', '-inform', 'DER', '-verify', '-noout', '-text'];
    const text = execFileSync(programPath('openssl') ?? '', args, { input, encoding: 'utf8' });
    assert.ok(text.includes(names.map((name) => `DNS:${name}`).join(', ')), text);
  },
);

describe('An order at Pebble', { skip: needs('pebble', 'openssl') }, () => {
  const cleanup = cleanups();
  const accountKey = newKey();
  const answers = new Map<string, string>();
  let dns: DnsServer;
  let web: Server;
  let pebble: Pebble;

  before(async () => {
    dns = await DnsServer.open();
    cleanup(() => dns.close());
    web = createServer((request, response) => {
      const host = request.headers.host?.split(':')[0] ?? '';
      const answer = answers.get(`${host} ${request.url ?? ''}`);
      response.writeHead(answer === undefined ? 404 : 200).end(answer);
    });
    await new Promise<void>((resolve) => web.listen(0, '127.0.0.1', resolve));
    cleanup(() => web.close());
    pebble = await opened({ blocked: ['blocked.example'] });
  });

  async function opened(options: Partial<PebbleOptions> = {}): Promise<Pebble> {
    const { port } = web.address() as AddressInfo;
    const one = await Pebble.open({ dns: dns.address, httpPort: port, ...options });
    cleanup(() => one.close());
    return one;
  }

  function clientOf(at: Pebble, options: Partial<AcmeClientOptions> = {}): AcmeClient {
    const { directory, ca } = at;
    const connection = new CaConnection({ directory, ca, fetch });
    cleanup(() => connection.close());
    const whole = { connection, directory, key: accountKey, email: null, binding: null };
    const onAccount = () => Promise.resolve();
    return new AcmeClient({ ...whole, account: null, onAccount, ...options });
  }

  function orderOf(names: string[], options: Partial<OrderOptions> = {}): OrderOptions {
    for (const name of names) dns.set('A', name.replace('*.', ''), '127.0.0.1');
    return {
      client: clientOf(pebble),
      clock: systemClock,
      names,
      key: newKey(),
      placedAt: null,
      onPlaced: () => Promise.resolve(),
      challengeFor: (name) => (name.startsWith('*.') ? 'dns-01' : 'http-01'),
      show: (name, { type, token }) => {
        const answer = `${token}.${thumbprintOf(accountKey)}`;
        if (type === 'http-01') {
          const at = `${name} /.well-known/acme-challenge/${token}`;
          answers.set(at, answer);
          return Promise.resolve(() => Promise.resolve(void answers.delete(at)));
        }
        const record = `_acme-challenge.${name}`;
        dns.set('TXT', record, dnsAnswer(token, thumbprintOf(accountKey)));
        return Promise.resolve(() => Promise.resolve(dns.unset('TXT', record)));
      },
      signal: never,
      ...options,
    };
  }

  it('ends in a certificate for names by HTTP, and takes its answers back', async () => {
    const order = orderOf(['shop.example', 'www.shop.example']);
    const { chain } = issuedChain(await obtainCertificate(order), order.key, order.names);
    const leaf = new X509Certificate(chain);
    assert.equal(leaf.checkHost('www.shop.example'), 'www.shop.example');
    assert.equal(answers.size, 0);
  });

  it('ends in a certificate for a wildcard by DNS, which can be revoked, twice too', async () => {
    const order = orderOf(['*.wild.example']);
    const { chain, leaf } = issuedChain(await obtainCertificate(order), order.key, order.names);
    assert.ok(![...dns.records.keys()].some((key) => key.startsWith('TXT')));
    const { serialNumber } = new X509Certificate(chain);
    assert.equal(await pebble.statusOf(serialNumber), 'Valid');
    await order.client.revoke(leaf, never);
    await order.client.revoke(leaf, never);
    assert.equal(await pebble.statusOf(serialNumber), 'Revoked');
  });

  it('goes on where it was left, with the same order and key', async () => {
    const placed: string[] = [];
    const stop = new AbortController();
    const order = orderOf(['resumed.example'], {
      onPlaced: (url) => Promise.resolve(void placed.push(url)),
    });
    const { show } = order;
    const cut = {
      ...order,
      show: (...args: Parameters<typeof show>) => {
        stop.abort(new Error('killed'));
        return show(...args);
      },
      signal: stop.signal,
    };
    await assert.rejects(obtainCertificate(cut), /killed/);
    const [placedAt = null] = placed;
    issuedChain(await obtainCertificate({ ...order, placedAt }), order.key, order.names);
    // Behind its end, too: the certificate is given again.
    issuedChain(await obtainCertificate({ ...order, placedAt }), order.key, order.names);
    assert.equal(placed.length, 1);
  });

  it('is placed anew where the old one failed, and says why one fails in words of the authority', async () => {
    const placed: string[] = [];
    const order = orderOf(['late.example'], {
      onPlaced: (url) => Promise.resolve(void placed.push(url)),
    });
    const mute = { ...order, show: () => Promise.resolve(() => Promise.resolve()) };
    await assert.rejects(
      obtainCertificate(mute),
      (error) => error instanceof CaRefusal && error.message.includes('late.example'),
    );
    const [placedAt = null] = placed;
    issuedChain(await obtainCertificate({ ...order, placedAt }), order.key, order.names);
    assert.equal(placed.length, 2);
    await assert.rejects(
      obtainCertificate(orderOf(['a.blocked.example'])),
      (error) => error instanceof CaRefusal && error.type === 'rejectedIdentifier',
    );
  });

  it('registers one account for many at once, finds it again by its key, and anew when it is lost', async () => {
    const accounts: string[] = [];
    const onAccount = (account: string) => Promise.resolve(void accounts.push(account));
    const other = await opened();
    const client = clientOf(other, { onAccount, email: 'admin@shop.example' });
    const names = Array.from({ length: 5 }, (_, i) => `many-${String(i)}.example`);
    await Promise.all(names.map((name) => obtainCertificate(orderOf([name], { client }))));
    assert.equal(accounts.length, 1);
    const restarted = clientOf(other, { onAccount });
    await obtainCertificate(orderOf(['again.example'], { client: restarted }));
    assert.equal(accounts[1], accounts[0]);
    await other.stop();
    await assert.rejects(
      obtainCertificate(orderOf(['away.example'], { client })),
      (error) => error instanceof CaUnavailable && error.message.includes('ECONNREFUSED'),
    );
    await other.start();
    const order = orderOf(['back.example'], { client });
    issuedChain(await obtainCertificate(order), order.key, order.names);
    assert.equal(accounts.length, 3);
  });

  it('is bound to a customer of the authority where that asks for it', async () => {
    const key = 'zWNDZM6eQGHWpSRTPal5eIUYFTu7EajVIoguysqZ9wG44nMEtx3MUAsUDkMTQ12W';
    const strict = await opened({ bindings: { 'kid-1': key } });
    const unbound = orderOf(['bound.example'], { client: clientOf(strict) });
    await assert.rejects(
      obtainCertificate(unbound),
      (error) => error instanceof CaRefusal && error.type === 'externalAccountRequired',
    );
    const client = clientOf(strict, { binding: { kid: 'kid-1', key } });
    const order = orderOf(['bound.example'], { client });
    issuedChain(await obtainCertificate(order), order.key, order.names);
  });
});
