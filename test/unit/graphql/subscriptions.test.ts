import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { MessageChannel } from 'node:worker_threads';
import { createClient } from 'graphql-sse';
import { homeDoors, threadDoors } from '../../../src/threads/doors.ts';
import { PortCalls } from '../../../src/threads/port-calls.ts';
import { openDoor, serveDoor } from '../../../src/threads/remote-door.ts';
import { sharedRooms, StreamLedger } from '../../../src/threads/stream-ledger.ts';
import { put, remove } from '../../../src/store/records/table.ts';
import { tables } from '../../../src/store/records/tables.ts';
import { eventually } from '../../support/eventually.ts';
import { appRecord, deploymentRecord } from '../../support/graphql-fixture.ts';
import { type GraphqlGateway, startGraphql } from '../../support/graphql-gateway.ts';
import { memoryLogger } from '../../support/memory-logger.ts';

interface Result {
  data?: Record<string, Record<string, unknown>> | null;
  errors?: readonly { message: string; extensions?: Record<string, unknown> }[];
}

const status =
  'subscription($id: ID!) { appStatus(id: $id) { id status latestDeployment { status } } }';
const log = 'subscription($id: ID!) { deploymentLog(id: $id) { text } }';

describe('subscriptions over server-sent events', () => {
  let api: GraphqlGateway;
  before(async () => {
    api = await startGraphql({ perPersonMax: 3, pingMs: 50 });
  });
  after(() => api.close());

  function client(userId = 'usr_ann') {
    return createClient({
      url: api.url,
      headers: { cookie: api.cookie(userId) },
      retryAttempts: 0,
    });
  }

  function follow(query: string, id: string, userId?: string) {
    return client(userId).iterate({ query, variables: { id } }) as AsyncIterableIterator<Result>;
  }

  const write = (...changes: Parameters<typeof api.fixture.accounts.store.write>[0]) =>
    api.fixture.accounts.store.write(changes);
  const open = () => api.streams.size;

  const until = (condition: () => boolean) => eventually('what was told', condition);

  it('give the app as it is, and again after every change of it or its deployment', async () => {
    const app = appRecord('app_s', 'team_a', { status: 'idle' });
    write(put(tables.apps, app));
    const results = follow(status, 'app_s');
    const next = async () => (await results.next()).value as Result;
    assert.deepEqual((await next()).data?.['appStatus'], {
      id: 'app_s',
      status: 'idle',
      latestDeployment: null,
    });
    const deployment = deploymentRecord('dpl_s', app, { status: 'queued' });
    write(
      put(tables.deployments, deployment),
      put(tables.apps, { ...app, status: 'queued', latestDeploymentId: 'dpl_s' }),
    );
    assert.deepEqual((await next()).data?.['appStatus'], {
      id: 'app_s',
      status: 'queued',
      latestDeployment: { status: 'queued' },
    });
    write(put(tables.deployments, { ...deployment, status: 'building' }));
    assert.deepEqual((await next()).data?.['appStatus']?.['latestDeployment'], {
      status: 'building',
    });
    write(put(tables.apps, { ...app, deletedAtMs: 1 }));
    assert.equal((await results.next()).done, true);
    await until(() => open() === 0);
  });

  it('end with an error that says so when the right to see the app is lost', async () => {
    write(put(tables.apps, appRecord('app_r', 'team_a')));
    const results = follow(status, 'app_r', 'usr_vic');
    assert.equal(((await results.next()).value as Result).errors, undefined);
    const member = api.fixture.accounts.store.get(tables.members, ['team_a', 'usr_vic'])!;
    write(remove(tables.members, ['team_a', 'usr_vic']));
    const last = (await results.next()).value as Result;
    const code = last.errors?.[0]?.extensions?.['code'];
    assert.ok(code === 'NOT_FOUND' || code === 'UNAUTHENTICATED', String(code));
    assert.equal((await results.next()).done, true);
    write(put(tables.members, member));
  });

  it('end when the session ends', async () => {
    write(put(tables.apps, appRecord('app_t', 'team_a')));
    const sessions = (): string[] =>
      [...api.fixture.accounts.store.scan(tables.auth)]
        .filter((one) => one.model === 'session')
        .map(({ id }) => id);
    const before = new Set(sessions());
    const cookie = api.cookie('usr_ann');
    const [session = ''] = sessions().filter((id) => !before.has(id));
    const own = createClient({ url: api.url, headers: { cookie }, retryAttempts: 0 });
    const results = own.iterate({
      query: status,
      variables: { id: 'app_t' },
    }) as AsyncIterableIterator<Result>;
    await results.next();
    write(remove(tables.auth, ['session', session]));
    const last = (await results.next()).value as Result;
    assert.equal(last.errors?.[0]?.extensions?.['code'], 'UNAUTHENTICATED');
    assert.equal((await results.next()).done, true);
  });

  it('refuse what cannot be seen in one event, and complete', async () => {
    const results = follow(status, 'app_x');
    const first = (await results.next()).value as Result;
    assert.equal(first.errors?.[0]?.extensions?.['code'], 'NOT_FOUND');
    assert.equal((await results.next()).done, true);
  });

  it('tell of invalid documents in an event, as the protocol wants', async () => {
    const results = client().iterate({
      query: 'subscription { nonsense }',
    }) as AsyncIterableIterator<Result>;
    const first = (await results.next()).value as Result;
    assert.equal(first.errors?.[0]?.extensions?.['code'], 'GRAPHQL_VALIDATION_FAILED');
    assert.equal((await results.next()).done, true);
  });

  it('answer queries in one event', async () => {
    const results = client().iterate({ query: '{ me { id } }' }) as AsyncIterableIterator<Result>;
    assert.deepEqual((await results.next()).value, { data: { me: { id: 'usr_ann' } } });
    assert.equal((await results.next()).done, true);
  });

  it('give the log of a deployment from its start, then live, and end with it', async () => {
    const app = appRecord('app_l', 'team_a');
    const deployment = deploymentRecord('dpl_l', app, { status: 'building' });
    write(put(tables.apps, app), put(tables.deployments, deployment));
    api.feed('build:dpl_l', 'one', 'two');
    const results = follow(log, 'dpl_l');
    const next = async () =>
      ((await results.next()).value as Result).data?.['deploymentLog']?.['text'];
    assert.equal(await next(), 'one');
    assert.equal(await next(), 'two');
    api.feed('build:dpl_l', 'three');
    assert.equal(await next(), 'three');
    write(put(tables.deployments, { ...deployment, status: 'ready' }));
    api.feed('build:dpl_l', 'last');
    assert.equal(await next(), 'last');
    assert.equal((await results.next()).done, true);
  });

  it('give the whole log of a deployment that is over, and end', async () => {
    api.endFeed('build:dpl_1a');
    const lines: unknown[] = [];
    for await (const result of follow(log, 'dpl_1a'))
      lines.push(result.data?.['deploymentLog']?.['text']);
    assert.deepEqual(lines, ['step 1', 'step 2']);
  });

  it('are refused as JSON with 406, and beyond the number one person may hold with 429', async () => {
    const body = { query: status, variables: { id: 'app_1' } };
    const plain = await api.post(body, { cookie: api.cookie('usr_ann') });
    assert.equal(plain.status, 406);
    const held = [1, 2, 3].map(() => follow(status, 'app_1'));
    for (const results of held) await results.next();
    const headers = { cookie: api.cookie('usr_ann'), accept: 'text/event-stream' };
    const refused = await api.post(body, headers);
    assert.equal(refused.status, 429);
    assert.ok(refused.headers.get('retry-after'));
    const { errors } = (await refused.json()) as Result;
    assert.equal(errors?.[0]?.extensions?.['code'], 'TOO_MANY_STREAMS');
    for (const results of held) await results.return?.();
    await until(() => open() === 0);
  });

  it('keep the connection alive with comments, and complete when the service drains', async () => {
    const response = await api.post(
      { query: status, variables: { id: 'app_1' } },
      { cookie: api.cookie('usr_ann'), accept: 'text/event-stream' },
    );
    assert.equal(response.headers.get('content-type'), 'text/event-stream; charset=utf-8');
    let text = '';
    for await (const chunk of response.body!) {
      text += Buffer.from(chunk as Uint8Array).toString();
      if (text.includes(': ping\n\n')) api.streams.drain();
    }
    assert.match(text, /^event: next\ndata: \{"data"/);
    assert.ok(text.endsWith('event: complete\ndata:\n\n'));
    const late = await api.post(
      { query: status, variables: { id: 'app_1' } },
      { cookie: api.cookie('usr_ann'), accept: 'text/event-stream' },
    );
    assert.equal(late.status, 503);
  });
});

describe('subscriptions on several threads', () => {
  it('are bounded for a person over all threads, and give their places back', async () => {
    const ledger = new StreamLedger({ logs: 0, graphql: 2 });
    const ports: { close(): void }[] = [];
    const start = (): Promise<GraphqlGateway> => {
      const { port1, port2 } = new MessageChannel();
      const logger = memoryLogger();
      const home = new PortCalls(port1, { logger });
      const thread = new PortCalls(port2, { logger });
      ports.push(home);
      const places = ledger.join(openDoor(home, threadDoors.streams));
      serveDoor(home, homeDoors.streams, places);
      const { graphql: room } = sharedRooms(openDoor(thread, homeDoors.streams));
      return startGraphql({ room, perPersonMax: 2 });
    };
    const [one, other] = [await start(), await start()];
    const ask = (api: GraphqlGateway): Promise<Response> =>
      api.post(
        { query: status, variables: { id: 'app_1' } },
        { cookie: api.cookie('usr_ann'), accept: 'text/event-stream' },
      );
    try {
      const held = [await ask(one), await ask(other)];
      for (const api of [one, other]) {
        const refused = await ask(api);
        assert.equal(refused.status, 429);
        const { errors } = (await refused.json()) as Result;
        assert.equal(errors?.[0]?.message, 'One person may hold 2 streams.');
      }
      for (const { body } of held) await body?.cancel();
      await eventually('all have left', () => one.streams.size + other.streams.size === 0);
      const again = await ask(one);
      assert.equal(again.status, 200);
      await again.body?.cancel();
    } finally {
      await Promise.all([one.close(), other.close()]);
      for (const port of ports) port.close();
    }
  });
});
