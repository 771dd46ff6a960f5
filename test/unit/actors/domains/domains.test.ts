import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { domainsDefinition } from '../../../../src/actors/domains/actor.ts';
import { domainsActor } from '../../../../src/actors/domains/protocol.ts';
import { ActorRuntime } from '../../../../src/actors/runtime/runtime.ts';
import type { AppRecord, DomainRecord } from '../../../../src/store/records/records.ts';
import { put } from '../../../../src/store/records/table.ts';
import { tables } from '../../../../src/store/records/tables.ts';
import { appRecord } from '../../../support/graphql-fixture.ts';
import { ManualClock } from '../../../support/manual-clock.ts';
import { MemoryStore } from '../../../support/memory-store.ts';
import { recordingLogger } from '../../../support/silent-logger.ts';

function setUp(t: TestContext) {
  const store = new MemoryStore();
  const clock = new ManualClock();
  const runtime = new ActorRuntime({
    store,
    clock,
    logger: recordingLogger(),
    carry: structuredClone,
  });
  const app = (id: string, teamId: string, more: Partial<AppRecord> = {}): void => {
    store.write([put(tables.apps, appRecord(id, teamId, more))]);
  };
  app('app_one', 'team_a');
  app('app_two', 'team_a');
  app('app_other', 'team_b');
  runtime.register(
    domainsDefinition({
      ...{ reader: store, clock, hostOf: (slug) => `${slug}.apps.test` },
      secrets: { seal: (plain) => Buffer.from(plain) },
      logger: recordingLogger(),
      ownHosts: () => ({ panel: 'panel.test', appsDomain: 'apps.test' }),
    }),
  );
  runtime.start();
  t.after(() => runtime.close());
  const add = (appId: string, host: string, redirectTo: string | null = null) =>
    runtime.ask(domainsActor, { type: 'add', appId, host, redirectTo });
  const remove = (domainId: string) => runtime.ask(domainsActor, { type: 'remove', domainId });
  const verify = (domain: DomainRecord): void => {
    const verified = { status: 'active', verifiedAtMs: clock.now() } as const;
    store.write([put(tables.domains, { ...domain, ...verified })]);
  };
  return { store, runtime, app, add, remove, verify };
}

describe('domains', () => {
  it('say what has to be set in the DNS', async (t) => {
    const { add } = setUp(t);
    const domain = await add('app_one', 'Shop.example.');
    assert.equal(domain.status, 'pending_dns');
    assert.deepEqual(domain.records, [
      { type: 'TXT', name: '_gangway.shop.example', value: domain.proof, found: false },
      { type: 'CNAME', name: 'shop.example', value: 'app-one.apps.test', found: false },
    ]);
    const wildcard = await add('app_one', '*.shop.example');
    assert.equal(wildcard.records[0]?.name, '_gangway.shop.example');
    assert.notEqual(wildcard.proof, domain.proof);
  });

  it('are one for a host of a team, and a claim for any team until one has verified it', async (t) => {
    const { add, verify } = setUp(t);
    const claim = await add('app_one', 'shop.example');
    await assert.rejects(add('app_two', 'shop.example'), { code: 'CONFLICT' });
    const theirs = await add('app_other', 'shop.example');
    verify(theirs);
    assert.throws(() => verify(claim), { code: 'CONFLICT' });
    for (const host of ['shop.example', 'a.shop.example', '*.shop.example', 'a.b.shop.example']) {
      await assert.rejects(add('app_two', host), { code: 'CONFLICT' }, host);
    }
    await add('app_two', 'example.org');
    await add('app_two', 'my-shop.example');
  });

  it('need no further proof below one that the team has verified', async (t) => {
    const { add, verify } = setUp(t);
    verify(await add('app_one', '*.shop.example'));
    const { records } = await add('app_two', 'a.b.shop.example');
    assert.deepEqual(
      records.map(({ type }) => type),
      ['CNAME'],
    );
  });

  it('lead to another of the same app, which leads to none', async (t) => {
    const { add, remove } = setUp(t);
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
    const { add } = setUp(t);
    assert.equal((await add('app_one', '*.shop.example')).isPrimary, false);
    assert.equal((await add('app_one', 'shop.example')).isPrimary, true);
    assert.equal((await add('app_one', 'www.shop.example')).isPrimary, false);
  });

  it('are of apps that are there, and of no previews', async (t) => {
    const { add, app } = setUp(t);
    app('app_gone', 'team_a', { deletedAtMs: 1 });
    const previewOf = { appId: 'app_one', branch: 'b', commitSha: 'c' };
    app('app_preview', 'team_a', { previewOf });
    await assert.rejects(add('app_none', 'shop.example'), { code: 'NOT_FOUND' });
    await assert.rejects(add('app_gone', 'shop.example'), { code: 'NOT_FOUND' });
    await assert.rejects(add('app_preview', 'shop.example'), { code: 'CONFLICT' });
  });

  it('are at most 100 of an app, and go with it', async (t) => {
    const { add, runtime, store } = setUp(t);
    for (let n = 0; n < 100; n++) await add('app_one', `n${String(n)}.example`);
    await assert.rejects(add('app_one', 'shop.example'), { code: 'CONFLICT', message: /100/ });
    const kept = await add('app_two', 'shop.example');
    await runtime.ask(domainsActor, { type: 'forget', appId: 'app_one' });
    assert.deepEqual([...store.scan(tables.domains)], [kept]);
  });
});
