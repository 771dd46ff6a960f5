import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { hostsOf } from '../../../../src/actors/domains/app-hosts.ts';
import { domainsActor } from '../../../../src/actors/domains/protocol.ts';
import { put } from '../../../../src/store/records/table.ts';
import { tables } from '../../../../src/store/records/tables.ts';
import { domainsOf, own } from '../../../support/domains-fixture.ts';
import { type ManualClock, settle } from '../../../support/manual-clock.ts';

const dayMs = 24 * 60 * 60_000;

/** Day by day: in between, domains are thought of once a minute. */
async function pass(clock: ManualClock, days: number): Promise<void> {
  for (let day = 0; day < days; day++) await clock.jump(dayMs);
}

describe('verified domains', () => {
  it('stay what they are once verified while no resolver answers', async (t) => {
    const { add, clock, dns, see, stored, verify } = domainsOf(t);
    const domain = await add('app_one', 'shop.example');
    const { verifiedAtMs } = await verify(domain);
    const later = await see(domain, { addresses: null, texts: null });
    assert.deepEqual([later.status, later.verifiedAtMs], ['active', verifiedAtMs]);
    assert.ok(later.records.every(({ found }) => !found));
    const elsewhere = { addresses: ['198.51.100.9'] };
    for (const part of ['own', 'addresses', 'aliases', 'texts'] as const) {
      dns.answers.set('shop.example', { ...elsewhere, [part]: null });
      await pass(clock, 30);
      const { status, error } = stored(domain) ?? {};
      assert.deepEqual([status, error], ['active', null], part);
    }
  });

  it('are looked at each day once verified, and stay what they are by their proof or their address', async (t) => {
    const { add, clock, dns, stored, told, verify } = domainsOf(t);
    const domain = await verify(await add('app_one', 'shop.example'));
    const wildcard = await verify(await add('app_two', '*.shop.example'));
    const below = await verify(await add('app_two', 'a.b.shop.example'));
    assert.equal(below.records.length, 1);
    told.length = 0;
    for (const seen of [
      { addresses: ['198.51.100.9'], texts: [domain.proof] },
      { addresses: [own, '198.51.100.9'] },
      { aliases: ['app-one.apps.test'] },
    ]) {
      dns.answers.set('shop.example', seen);
      // By the proof of the host itself, and by what is above.
      dns.answers.set(`${wildcard.proof}.shop.example`, { ...seen, texts: [domain.proof] });
      const asked = dns.asked.length;
      await pass(clock, 10);
      assert.equal(dns.asked.length, asked + 30);
      for (const one of [domain, wildcard, below]) {
        const { status, error, verifiedAtMs } = stored(one) ?? {};
        assert.deepEqual([status, error, verifiedAtMs], ['active', null, one.verifiedAtMs]);
      }
    }
    assert.deepEqual(told, []);
  });

  it('are lost to who leads them elsewhere for a week, and are told of that before', async (t) => {
    const { add, clock, dns, see, store, stored, told, verify } = domainsOf(t);
    const domain = await verify(await add('app_one', 'shop.example'));
    const gone = { addresses: ['198.51.100.9'], texts: ['of somebody else'] };
    dns.answers.set('shop.example', gone);
    await pass(clock, 1);
    assert.match(stored(domain)?.error ?? '', /leads elsewhere.* On 2023-11-22 its team loses it/);
    await pass(clock, 6);
    // It was here all the time in between.
    dns.answers.set('shop.example', { addresses: [own] });
    await pass(clock, 1);
    assert.equal(stored(domain)?.error, null);
    dns.answers.set('shop.example', gone);
    await pass(clock, 7);
    assert.equal(stored(domain)?.status, 'active');
    assert.equal(hostsOf(store, 'app_one', clock.now()).length, 1);
    // On the last day nobody answers.
    dns.answers.set('shop.example', { ...gone, texts: null });
    await pass(clock, 1);
    assert.equal(stored(domain)?.status, 'active');
    told.length = 0;
    dns.answers.set('shop.example', gone);
    await pass(clock, 1);
    const lost = stored(domain);
    assert.deepEqual([lost?.status, lost?.verifiedAtMs], ['failed', null]);
    assert.match(lost?.error ?? '', /led elsewhere for a week/);
    assert.deepEqual(told, ['app_one']);
    assert.deepEqual(hostsOf(store, 'app_one', clock.now()), []);
    // It is anybody's again: also theirs, should they ask.
    assert.equal((await verify(await add('app_other', 'shop.example'))).status, 'active');
    assert.match((await see(domain, gone)).error ?? '', /Another team/);
  });

  it('are served by HTTP once what was uploaded for them has run out, of which people are told', async (t) => {
    const { add, clock, dns, store, stored, told, verify } = domainsOf(t);
    const domain = await verify(await add('app_one', 'shop.example'));
    dns.answers.set('shop.example', { addresses: [own] });
    const certificate = {
      ...{ id: 'crt_one', names: ['shop.example'], chain: '', key: new Uint8Array(1), issuer: '' },
      ...{ notBeforeMs: 0, notAfterMs: clock.now() + 1.5 * dayMs, managed: false },
    };
    store.write([
      put(tables.certificates, certificate),
      put(tables.domains, { ...domain, certificateId: certificate.id }),
    ]);
    const host = { host: 'shop.example', isActive: true };
    told.length = 0;
    await pass(clock, 1);
    assert.deepEqual([stored(domain)?.error, told], [null, []]);
    assert.deepEqual(hostsOf(store, 'app_one', clock.now()), [{ ...host, hasCertificate: true }]);
    await pass(clock, 1);
    const { status, error } = stored(domain) ?? {};
    assert.deepEqual([status, told], ['active', ['app_one']]);
    assert.equal(error, 'Its own certificate ran out on 2023-11-16: upload another one.');
    assert.deepEqual(hostsOf(store, 'app_one', clock.now()), [host]);
  });

  it('are looked at after a start that were verified when nobody looked again', async (t) => {
    const { add, dns, runtime, store, stored, verify } = domainsOf(t);
    const domain = await verify(await add('app_one', 'shop.example'));
    store.write([put(tables.domains, { ...domain, nextTryAtMs: null })]);
    const asked = dns.asked.length;
    await runtime.ask(domainsActor, { type: 'wake' });
    await settle();
    assert.equal(dns.asked.length, asked + 1);
    assert.ok((stored(domain)?.nextTryAtMs ?? 0) > 0);
  });
});
