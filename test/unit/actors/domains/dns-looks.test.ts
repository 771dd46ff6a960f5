import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { DnsLooks, type DnsLooksOptions } from '../../../../src/actors/domains/dns-looks.ts';
import { systemClock } from '../../../../src/lib/clock.ts';
import { DnsServer } from '../../../support/dns-server.ts';
import { eventually } from '../../../support/eventually.ts';
import { ManualClock } from '../../../support/manual-clock.ts';

const question = { host: 'shop.example', proofAt: '_gangway.shop.example' };

async function setUp(t: TestContext, options: Partial<DnsLooksOptions> = {}) {
  const server = await DnsServer.open();
  t.after(() => server.close());
  const looks = new DnsLooks({
    clock: systemClock,
    resolvers: [server.address],
    addresses: ['203.0.113.7', '2001:DB8:0::7'],
    host: () => 'panel.example',
    ...options,
  });
  return { server, looks };
}

describe('DnsLooks', () => {
  it('sees addresses behind aliases, aliases, and texts in one form', async (t) => {
    const { server, looks } = await setUp(t);
    server.set('CNAME', 'shop.example', 'shops.example');
    server.set('A', 'shops.example', '203.0.113.7', '198.51.100.1');
    server.set('AAAA', 'shops.example', '2001:db8::7');
    server.set('TXT', '_gangway.shop.example', 'gangway-1', 'v=spf1');
    assert.deepEqual(await looks.look(question), {
      own: ['203.0.113.7', '2001:db8::7'],
      addresses: ['203.0.113.7', '198.51.100.1', '2001:db8::7'],
      aliases: ['shops.example'],
      texts: ['gangway-1', 'v=spf1'],
    });
  });

  it('tells what is not there from what nobody answered', async (t) => {
    const { server, looks } = await setUp(t);
    const none = { addresses: [], aliases: [], texts: [] };
    const own = ['203.0.113.7', '2001:db8::7'];
    assert.deepEqual(await looks.look(question), { own, ...none });
    const clock = new ManualClock();
    const { looks: unanswered } = await setUp(t, { clock, resolvers: [server.address] });
    server.silent = true;
    const looking = unanswered.look(question);
    // Later than any of its answers may come.
    await eventually('all is asked', () => server.asked.length >= 8);
    await clock.advance(10_000);
    assert.deepEqual(await looking, { own, addresses: null, aliases: null, texts: null });
  });

  it('ends with its signal', async (t) => {
    const { server, looks } = await setUp(t, { clock: new ManualClock() });
    server.silent = true;
    const stop = new AbortController();
    const looking = looks.look(question, stop.signal);
    stop.abort();
    assert.equal((await looking).addresses, null);
  });

  it('finds its own addresses where the panel is, unless they are named', async (t) => {
    const { server } = await setUp(t);
    server.set('A', 'panel.example', '192.0.2.1');
    const ownOf = async (host: string) =>
      (
        await setUp(t, { addresses: [], resolvers: [server.address], host: () => host })
      ).looks.own();
    assert.deepEqual(await ownOf('panel.example'), ['192.0.2.1']);
    assert.deepEqual(await ownOf('localhost'), ['127.0.0.1', '::1']);
    assert.deepEqual(await ownOf('panel.localhost'), ['127.0.0.1', '::1']);
    assert.deepEqual(await ownOf('[2001:DB8::1]'), ['2001:db8::1']);
    assert.deepEqual(await ownOf('127.0.0.1'), ['127.0.0.1']);
    assert.deepEqual(await ownOf('nowhere.example'), []);
  });

  it('bounds how many look at once for somebody who waits', async (t) => {
    const clock = new ManualClock();
    const { server, looks } = await setUp(t, { clock });
    server.silent = true;
    const waiting = Array.from({ length: 64 }, () => looks.lookNow(question));
    await assert.rejects(looks.lookNow(question), { code: 'OVERLOADED' });
    await clock.advance(10_000);
    await Promise.all(waiting);
    server.silent = false;
    assert.deepEqual((await looks.lookNow(question)).texts, []);
  });
});
