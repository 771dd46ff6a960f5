import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { hostsOf } from '../../../../src/actors/domains/app-hosts.ts';
import { domainsActor } from '../../../../src/actors/domains/protocol.ts';
import type { DomainRecord } from '../../../../src/store/records/records.ts';
import { put } from '../../../../src/store/records/table.ts';
import { tables } from '../../../../src/store/records/tables.ts';
import { domainsOf, own } from '../../../support/domains-fixture.ts';
import { settle } from '../../../support/manual-clock.ts';

describe('domains', () => {
  it('say what has to be set in the DNS', async (t) => {
    const { add } = domainsOf(t);
    const domain = await add('app_one', 'Shop.example.');
    assert.equal(domain.status, 'pending_dns');
    assert.deepEqual(domain.records, [
      { type: 'TXT', name: '_gangway.shop.example', value: domain.proof, found: false },
      { type: 'A', name: 'shop.example', value: own, found: false },
    ]);
    const wildcard = await add('app_one', '*.shop.example');
    assert.equal(wildcard.records[0]?.name, '_gangway.shop.example');
    assert.notEqual(wildcard.proof, domain.proof);
  });

  it('are one for a host of a team, and a claim for any team until one has verified it', async (t) => {
    const { add, verify } = domainsOf(t);
    const claim = await add('app_one', 'shop.example');
    await assert.rejects(add('app_two', 'shop.example'), { code: 'CONFLICT' });
    const theirs = await add('app_other', 'shop.example');
    assert.equal((await verify(theirs)).status, 'active');
    const beaten = await verify(claim);
    assert.deepEqual([beaten.status, beaten.verifiedAtMs], ['failed', null]);
    assert.match(beaten.error ?? '', /Another team/);
    for (const host of ['shop.example', 'a.shop.example', '*.shop.example', 'a.b.shop.example']) {
      await assert.rejects(add('app_two', host), { code: 'CONFLICT' }, host);
    }
    await add('app_two', 'example.org');
    await add('app_two', 'my-shop.example');
  });

  it('are not verified at what has become the host of the panel meanwhile', async (t) => {
    const { add, verify, panel } = domainsOf(t);
    const hosts = ['a.shop.example', '*.shop.example'];
    const claims = await Promise.all(hosts.map((host) => add('app_one', host)));
    panel.host = 'a.shop.example';
    for (const claim of claims) {
      const { status, error } = await verify(claim);
      assert.deepEqual([status, error], ['failed', "a.shop.example is the panel's own host."]);
      assert.equal((await verify(claim)).status, 'failed', 'also when asked again');
    }
  });

  it('need no further proof below one that the team has verified', async (t) => {
    const { add, verify } = domainsOf(t);
    await verify(await add('app_one', '*.shop.example'));
    const { records } = await add('app_two', 'a.b.shop.example');
    assert.deepEqual(
      records.map(({ type }) => type),
      ['A'],
    );
  });

  it('lead to another of the same app, which leads to none', async (t) => {
    const { add, remove } = domainsOf(t);
    const www = await add('app_one', 'www.shop.example');
    const apex = await add('app_one', 'shop.example', 'WWW.shop.example');
    assert.equal(apex.redirectTo, 'www.shop.example');
    for (const to of ['shop.example', 'b.example', 'x.example', 'elsewhere.example', 'app']) {
      await assert.rejects(add('app_one', 'x.example', to), { code: 'BAD_USER_INPUT' }, to);
    }
    await assert.rejects(add('app_two', 'x.example', 'www.shop.example'), {
      code: 'BAD_USER_INPUT',
    });
    await assert.rejects(remove(www.id), { code: 'CONFLICT', message: /^shop\.example leads/ });
    await remove(apex.id);
    await remove(www.id);
    await assert.rejects(remove(www.id), { code: 'NOT_FOUND' });
  });

  it('are primary when they are the first that answers itself', async (t) => {
    const { add } = domainsOf(t);
    assert.equal((await add('app_one', '*.shop.example')).isPrimary, false);
    assert.equal((await add('app_one', 'shop.example')).isPrimary, true);
    assert.equal((await add('app_one', 'www.shop.example')).isPrimary, false);
  });

  it('are of apps that are there, and of no previews', async (t) => {
    const { add, app } = domainsOf(t);
    app('app_gone', 'team_a', { deletedAtMs: 1 });
    const previewOf = { appId: 'app_one', branch: 'b', commitSha: 'c' };
    app('app_preview', 'team_a', { previewOf });
    await assert.rejects(add('app_none', 'shop.example'), { code: 'NOT_FOUND' });
    await assert.rejects(add('app_gone', 'shop.example'), { code: 'NOT_FOUND' });
    await assert.rejects(add('app_preview', 'shop.example'), { code: 'CONFLICT' });
  });

  it('are at most 100 of an app, and go with it', async (t) => {
    const { add, runtime, store } = domainsOf(t);
    for (let n = 0; n < 100; n++) await add('app_one', `n${String(n)}.example`);
    await assert.rejects(add('app_one', 'shop.example'), { code: 'CONFLICT', message: /100/ });
    const kept = await add('app_two', 'shop.example');
    await runtime.ask(domainsActor, { type: 'forget', appId: 'app_one' });
    assert.deepEqual(
      [...store.scan(tables.domains)].map(({ id }) => id),
      [kept.id],
    );
  });

  it('are looked at by themselves, ever more rarely, and fail at last', async (t) => {
    const { add, clock, dns, stored } = domainsOf(t);
    const domain = await add('app_one', 'shop.example');
    await settle();
    assert.deepEqual(dns.asked, [{ host: 'shop.example', proofAt: '_gangway.shop.example' }]);
    await clock.advance(10 * 60_000);
    assert.equal(dns.asked.length, 21);
    await clock.advance(24 * 60 * 60_000);
    // The pauses have doubled up to an hour.
    assert.equal(dns.asked.length, 49);
    assert.equal(stored(domain)?.status, 'pending_dns');
    await clock.advance(8 * 24 * 60 * 60_000);
    assert.equal(stored(domain)?.status, 'failed');
    assert.match(stored(domain)?.error ?? '', /for a week/);
    const asked = dns.asked.length;
    await clock.advance(24 * 60 * 60_000);
    assert.equal(dns.asked.length, asked);
  });

  it('begin anew when somebody asks for one that has failed', async (t) => {
    const { add, clock, dns, see, stored, verify } = domainsOf(t);
    const domain = await add('app_one', 'shop.example');
    await clock.advance(9 * 24 * 60 * 60_000);
    assert.equal(stored(domain)?.status, 'failed');
    assert.equal((await see(domain, {})).status, 'pending_dns');
    const asked = dns.asked.length;
    await clock.advance(30_000);
    assert.equal(dns.asked.length, asked + 1);
    assert.equal((await verify(domain)).status, 'active');
  });

  it('are ordered for when somebody asks for one that is verified, whose renewal may have been refused', async (t) => {
    const { add, ordered, see, verify } = domainsOf(t);
    const domain = await add('app_one', 'shop.example');
    await see(domain, {});
    assert.deepEqual(ordered, []);
    assert.equal((await verify(domain)).status, 'active');
    await verify(domain);
    await settle();
    assert.deepEqual(ordered, [domain.id, domain.id]);
  });

  it('are looked at when the clock was ahead and is set back, also behind many others', async (t) => {
    const { add, clock, dns, store, verify } = domainsOf(t);
    const others: DomainRecord[] = [];
    for (let n = 0; n < 20; n++) others.push(await add('app_two', `n${String(n)}.example`));
    await clock.jump(30 * 24 * 60 * 60_000);
    await verify(await add('app_one', 'shop.example'));
    await add('app_one', 'www.example');
    await settle();
    await clock.jump(-30 * 24 * 60 * 60_000);
    const nextTryAtMs = clock.now() + 30_000;
    store.write(others.map((one) => put(tables.domains, { ...one, nextTryAtMs })));
    dns.asked = [];
    await add('app_one', 'new.example');
    await settle();
    const hosts = dns.asked.map(({ host }) => host);
    assert.deepEqual(hosts.toSorted(), ['new.example', 'shop.example', 'www.example']);
  });

  it('are found within the half minute in which they are set', async (t) => {
    const { add, clock, dns, stored, told } = domainsOf(t);
    const domain = await add('app_one', 'shop.example');
    await clock.advance(45_000);
    dns.answers.set('shop.example', { addresses: [own], texts: ['x', domain.proof] });
    await clock.advance(30_000);
    assert.equal(stored(domain)?.status, 'active');
    assert.deepEqual(
      stored(domain)?.records.map(({ found }) => found),
      [true, true],
    );
    assert.deepEqual(told.slice(-1), ['app_one']);
    const asked = dns.asked.length;
    await clock.advance(60 * 60_000);
    assert.equal(dns.asked.length, asked);
  });

  it('keep nobody waiting while a resolver hangs, and are few at a time', async (t) => {
    const { add, dns, verify, stored } = domainsOf(t);
    const held: (() => void)[] = [];
    dns.held = held;
    const first = await add('app_one', 'n0.example');
    for (let n = 1; n < 19; n++) await add('app_one', `n${String(n)}.example`);
    const last = await add('app_one', 'n19.example');
    await settle();
    assert.equal(held.length, 8);
    assert.equal((await verify(first)).status, 'active');
    // The look that began before says what is no longer asked.
    for (let go = held.shift(); go; go = held.shift()) {
      go();
      await settle();
    }
    assert.equal(dns.asked.length, 20);
    assert.equal(stored(first)?.status, 'active');
    assert.equal(stored(last)?.failures, 1);
  });

  it('are not verified by half of what is to be set, nor by what another proves', async (t) => {
    const { add, see } = domainsOf(t);
    const mine = await add('app_one', 'shop.example');
    const theirs = await add('app_other', 'shop.example');
    for (const seen of [
      {},
      { addresses: [own] },
      { texts: [mine.proof] },
      { addresses: [own], texts: [theirs.proof, `${mine.proof} `, mine.proof.slice(1)] },
      { addresses: [own, '198.51.100.9'], texts: [mine.proof] },
      { addresses: ['198.51.100.9'], texts: [mine.proof], aliases: ['app-other.apps.test'] },
      { addresses: null, texts: [mine.proof] },
      { addresses: [own], texts: null },
      { own: null, addresses: [own], texts: [mine.proof] },
      { own: [], addresses: [], texts: [mine.proof] },
    ]) {
      const { status, verifiedAtMs } = await see(mine, seen);
      assert.deepEqual([status, verifiedAtMs], ['pending_dns', null], JSON.stringify(seen));
    }
    const alias = { addresses: null, aliases: ['APP-one.apps.test'], texts: [mine.proof] };
    assert.equal((await see(mine, alias)).status, 'active');
  });

  it('say where they lead instead', async (t) => {
    const { add, see } = domainsOf(t);
    const domain = await add('app_one', 'shop.example');
    const { error, records } = await see(domain, { addresses: [own, '198.51.100.9'] });
    assert.match(
      error ?? '',
      /shop\.example leads to 198\.51\.100\.9, which is no address of this/,
    );
    assert.deepEqual(
      records.map(({ type, found }) => [type, found]),
      [
        ['TXT', false],
        ['A', true],
      ],
    );
    assert.match((await see(domain, { texts: null })).error ?? '', /No DNS server answered/);
    assert.equal((await see(domain, {})).error, null);
  });

  it('are told to change nothing while no DNS server answers for the panel', async (t) => {
    const { add, see, verify } = domainsOf(t);
    const seen = { own: null, addresses: [own] };
    const claim = await add('app_one', 'www.example');
    const { error, records } = await see(claim, seen);
    assert.match(error ?? '', /No DNS server answered for the panel's own name/);
    assert.deepEqual(records, claim.records);
    const domain = await verify(await add('app_one', 'shop.example'));
    assert.deepEqual((await see(domain, seen)).records, domain.records);
    const alias = { own: null, aliases: ['app-one.apps.test'], texts: [claim.proof] };
    assert.equal((await see(claim, alias)).status, 'active');
  });

  it('pass their rank on, and are given it', async (t) => {
    const { add, remove, runtime, stored } = domainsOf(t);
    const setPrimary = ({ id: domainId }: DomainRecord) =>
      runtime.ask(domainsActor, { type: 'set-primary', domainId });
    const first = await add('app_one', 'shop.example');
    const second = await add('app_one', 'www.shop.example');
    const away = await add('app_one', 'old.example', 'shop.example');
    const wildcard = await add('app_one', '*.shop.example');
    await setPrimary(second);
    assert.deepEqual([stored(first)?.isPrimary, stored(second)?.isPrimary], [false, true]);
    for (const one of [away, wildcard]) {
      await assert.rejects(setPrimary(one), { code: 'CONFLICT' });
    }
    await remove(second.id);
    assert.equal(stored(first)?.isPrimary, true);
  });

  it('are told at start to apps that know others', async (t) => {
    const { add, app, runtime, store, told, verify } = domainsOf(t);
    const domain = await verify(await add('app_one', 'shop.example'));
    await verify(await add('app_two', 'other.example'));
    const hosts = [{ host: domain.host, isActive: true as const }];
    app('app_one', 'team_a', { hosts });
    app('app_gone', 'team_a', { hosts });
    told.length = 0;
    await runtime.ask(domainsActor, { type: 'wake' });
    await settle();
    assert.deepEqual(told.toSorted(), ['app_gone', 'app_two']);
    assert.equal(store.count(tables.apps, 'hosts', []), 2);
  });
});

describe('hostsOf()', () => {
  it('names the verified ones, the primary first, and redirects only to what is active', async (t) => {
    const { add, clock, verify, store, runtime } = domainsOf(t);
    const away = await add('app_one', 'a.example');
    // Ids of one millisecond are in no order.
    await clock.advance(1);
    const www = await add('app_one', 'www.example.org');
    await clock.advance(1);
    const apex = await add('app_one', 'example.org', 'www.example.org');
    await verify(apex);
    assert.deepEqual(hostsOf(store, 'app_one', clock.now()), [
      { host: 'example.org', isActive: true },
    ]);
    await verify(www);
    await verify(away);
    await runtime.ask(domainsActor, { type: 'set-primary', domainId: www.id });
    assert.deepEqual(hostsOf(store, 'app_one', clock.now()), [
      { host: 'www.example.org', isActive: true },
      { host: 'a.example', isActive: true },
      { host: 'example.org', redirectTo: 'www.example.org', isActive: true },
    ]);
  });
});
