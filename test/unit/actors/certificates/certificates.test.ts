import assert from 'node:assert/strict';
import { createPrivateKey, X509Certificate } from 'node:crypto';
import { before, describe, it } from 'node:test';
import type { AcmeSettings } from '../../../../src/actors/certificates/authority.ts';
import {
  appsCertificateId,
  panelCertificateId,
} from '../../../../src/actors/edge/apps-certificate.ts';
import { certificateKeyContext } from '../../../../src/actors/edge/edge-certificates.ts';
import { remove } from '../../../../src/store/records/table.ts';
import { tables } from '../../../../src/store/records/tables.ts';
import { AuthorityPlace, CertificatesWorld } from '../../../support/certificates-world.ts';
import { cleanups } from '../../../support/cleanups.ts';
import { openDnsCommand } from '../../../support/dns-command.ts';
import { eventually, found } from '../../../support/eventually.ts';
import type { Pebble } from '../../../support/pebble.ts';
import { plainSecrets } from '../../../support/plain-secrets.ts';
import { needs } from '../../../support/programs.ts';

const dayMs = 24 * 3_600_000;

describe('The certificates actor at Pebble', { skip: needs('pebble', 'openssl', 'curl') }, () => {
  const cleanup = cleanups();
  let place: AuthorityPlace;
  let pebble: Pebble;
  let dnsCommand: string;
  before(async () => {
    place = await AuthorityPlace.open();
    cleanup(() => place.close());
    const command = await openDnsCommand(place.dns);
    cleanup(() => command.close());
    dnsCommand = command.path;
    pebble = await place.pebble({ blocked: ['blocked.example'] });
  });

  const worldAt = (at: Pebble = pebble, acme: Partial<AcmeSettings> = {}): CertificatesWorld => {
    const world = new CertificatesWorld(place, at, acme);
    cleanup(() => world.stop());
    return world;
  };

  it('gets many domains their certificates, as one account, and keeps the keys sealed', async () => {
    const world = worldAt();
    const ids = Array.from({ length: 50 }, (_, i) => world.add(`shop-${String(i)}.example`));
    world.start();
    for (const id of ids) {
      const { chain, key, names } = await world.certified(id);
      const { host, status, error } = world.domain(id);
      assert.deepEqual([names, status, error], [[host], 'active', null]);
      const certificateId = world.domain(id).certificateId ?? '';
      const pem = plainSecrets.open(key, certificateKeyContext(certificateId));
      assert.ok(Buffer.from(key).toString().startsWith(certificateKeyContext(certificateId)));
      assert.ok(new X509Certificate(chain).checkPrivateKey(createPrivateKey(pem)));
    }
    const [account, ...others] = world.store.scan(tables.acmeAccounts);
    assert.ok(account?.url !== null);
    assert.deepEqual([others, [...world.store.scan(tables.certificateOrders)]], [[], []]);
  });

  it('renews at two thirds of the life, once, however far ahead the clock is set', async () => {
    const world = worldAt(await place.pebble({ validitySeconds: (90 * dayMs) / 1000 }));
    const id = world.add('renewed.example');
    world.start();
    const first = await world.certified(id);
    world.clock.aheadMs = 55 * dayMs;
    world.sweep();
    await eventually('the end of rest', () => world.domain(id).certificateId === first.id);
    await world.stop();
    world.start();
    await new Promise(setImmediate);
    assert.equal(world.domain(id).certificateId, first.id, 'too early');
    world.clock.aheadMs = 400 * dayMs;
    world.sweep();
    const second = await found('another', () => {
      const certificate = world.certificate(id);
      return certificate?.id !== first.id && certificate;
    });
    // By this clock the new one has ended, too.
    world.sweep();
    world.order(id);
    world.sweep();
    const other = world.add('other.example');
    world.sweep();
    await world.certified(other);
    assert.equal(world.domain(id).certificateId, second.id);
    assert.equal(world.store.get(tables.certificates, first.id), undefined);
  });

  it('says why one is refused, keeps it waiting, and tries at once when somebody asks', async () => {
    const world = worldAt();
    const mute = world.add('mute.example', false);
    const blocked = world.add('a.blocked.example');
    world.start();
    await eventually('both to fail', () =>
      [mute, blocked].every((id) => world.domain(id).status === 'failed'),
    );
    assert.match(world.domain(mute).error ?? '', /refused \(unauthorized\): .*mute\.example/);
    assert.match(world.domain(blocked).error ?? '', /refused \(rejectedIdentifier\): .*blocked/);
    const order = world.store.get(tables.certificateOrders, mute);
    assert.equal(order?.failures, 1);
    assert.ok(order.nextTryAtMs > world.clock.now() + 4 * 60_000);
    place.lead('mute.example', world.store);
    world.sweep();
    world.order(mute);
    await world.certified(mute);
    assert.deepEqual([world.domain(mute).status, world.domain(mute).error], ['active', null]);
  });

  it('waits while the authority is away, and goes on when it is back', async () => {
    const other = await place.pebble();
    const world = worldAt(other);
    world.clock.speed = 100;
    world.start();
    const before = world.add('before.example');
    world.order(before);
    await world.certified(before);
    await other.stop();
    const ids = [world.add('away-1.example'), world.add('away-2.example')];
    for (const id of ids) world.order(id);
    await eventually('the reason', () =>
      ids.some((id) => world.domain(id).error?.includes('ECONNREFUSED')),
    );
    assert.ok(ids.every((id) => world.domain(id).status === 'issuing'));
    await other.start();
    for (const id of ids) await world.certified(id);
  });

  it('goes on with the same order and account behind a crash', async () => {
    const world = worldAt();
    const id = world.add('crashed.example');
    world.start();
    const url = await found('the order', () => {
      return world.store.get(tables.certificateOrders, id)?.url ?? undefined;
    });
    await world.stop();
    const accounts = [...world.store.scan(tables.acmeAccounts)];
    assert.equal(world.store.get(tables.certificateOrders, id)?.url, url);
    world.start();
    await world.certified(id);
    assert.deepEqual([...world.store.scan(tables.acmeAccounts)], accounts);
  });

  it('revokes the certificate of a domain that is gone', async () => {
    const world = worldAt();
    const id = world.add('gone.example');
    world.start();
    const certificate = await world.certified(id);
    world.store.write([remove(tables.domains, id)]);
    world.sweep();
    await eventually('no certificate', () => {
      return world.store.get(tables.certificates, certificate.id) === undefined;
    });
    const { serialNumber } = new X509Certificate(certificate.chain);
    assert.equal(await pebble.statusOf(serialNumber), 'Revoked');
  });

  it('drops the order of a domain that is gone, and no other', async () => {
    const world = worldAt();
    const [gone, kept] = [world.add('gone.blocked.example'), world.add('kept.blocked.example')];
    const orderOf = (id: string) => world.store.get(tables.certificateOrders, id);
    world.start();
    await eventually('both to wait', () => [gone, kept].every((id) => orderOf(id)?.failures === 1));
    world.store.write([remove(tables.domains, gone)]);
    world.sweep();
    await eventually('no order', () => orderOf(gone) === undefined);
    assert.equal(orderOf(kept)?.failures, 1);
  });

  it('proves a wildcard by the program that sets records, and takes them back', async () => {
    const world = worldAt(pebble, { dnsCommand });
    const id = world.add('*.wild.example');
    world.start();
    const { names } = await world.certified(id);
    assert.deepEqual(names, ['*.wild.example']);
    await eventually('no record', () => !place.dns.records.has('TXT _acme-challenge.wild.example'));
    const without = worldAt();
    const other = without.add('*.tame.example');
    without.start();
    await eventually('a refusal', () => without.domain(other).status === 'failed');
    assert.match(without.domain(other).error ?? '', /acme\.dnsCommand/);
  });

  it('gets the names of apps one certificate, renews it, and revokes it for other names', async () => {
    const world = worldAt(pebble, { dnsCommand });
    const id = appsCertificateId('*.apps.example');
    const had = () => world.store.get(tables.certificates, id);
    world.appsWildcard = '*.apps.example';
    world.start();
    const first = await found('a certificate', had);
    assert.deepEqual([first.names, first.managed], [['*.apps.example'], true]);
    const pem = plainSecrets.open(first.key, certificateKeyContext(id));
    assert.ok(new X509Certificate(first.chain).checkPrivateKey(createPrivateKey(pem)));
    await eventually('word to the edge', () => world.tellings === 1);
    assert.deepEqual([...world.store.scan(tables.certificateOrders)], []);
    assert.deepEqual([...world.store.scan(tables.domains)], []);
    const beside = world.add('beside.example');
    world.sweep();
    await world.certified(beside);
    assert.equal(had()?.chain, first.chain, 'no domain has it, and yet it is left alone');
    await world.stop();
    world.clock.aheadMs = 4 * 365 * dayMs;
    world.start();
    await eventually('another', () => had()?.chain !== first.chain);
    await eventually('word of it', () => world.tellings === 2);
    const { serialNumber } = new X509Certificate(had()?.chain ?? '');
    await world.stop();
    world.clock.aheadMs = 0;
    world.appsWildcard = '*.b.example';
    world.start();
    await found('the next', () =>
      world.store.get(tables.certificates, appsCertificateId('*.b.example')),
    );
    await eventually('the end of the one before', () => had() === undefined);
    assert.equal(await pebble.statusOf(serialNumber), 'Revoked');
  });

  it('gets the panel a certificate, and another one when that has another host', async () => {
    const world = worldAt();
    const had = (host: string) => world.store.get(tables.certificates, panelCertificateId(host));
    for (const host of ['panel.example', 'console.example']) {
      place.lead(host, world.store);
    }
    world.panel = 'panel.example';
    world.start();
    const first = await found('a certificate', () => had('panel.example'));
    assert.ok(world.syncs > 0, 'the edge answers for it first');
    await eventually('word to the edge', () => world.tellings === 1);
    world.panel = 'console.example';
    world.sweep();
    await found('the next', () => had('console.example'));
    await eventually('the end of the one before', () => had('panel.example') === undefined);
    assert.equal(await pebble.statusOf(new X509Certificate(first.chain).serialNumber), 'Revoked');
  });

  it('logs the words of an authority that certifies no names of apps, and tries later', async () => {
    const world = worldAt(pebble, { dnsCommand });
    world.appsWildcard = '*.blocked.example';
    world.start();
    const order = await found('a refusal', () => {
      const one = world.store.get(tables.certificateOrders, appsCertificateId('*.blocked.example'));
      return one?.failures === 1 && one;
    });
    assert.ok(order.nextTryAtMs > world.clock.now() + 4 * 60_000);
    const told = world.logger.records.find(({ event }) => event === 'certificate_not_issued');
    const { err, host } = told?.fields as { err: Error; host: string };
    assert.deepEqual([told?.level, host, err.message], ['warn', '*.blocked.example', order.error]);
    assert.match(err.message, /refused \(rejectedIdentifier\): .*blocked/);
  });
});
