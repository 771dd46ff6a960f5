import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { createClient } from 'graphql-ws';
import { WebSocket } from 'ws';
import type { AuditedRequest } from '../../../../src/auth/audit.ts';
import { put, remove } from '../../../../src/store/records/table.ts';
import { tables } from '../../../../src/store/records/tables.ts';
import { eventually } from '../../../support/eventually.ts';
import { appRecord } from '../../../support/graphql-fixture.ts';
import { type GraphqlGateway, startGraphql } from '../../../support/graphql-gateway.ts';
import { RawGraphqlSocket, RefusedHandshake } from '../../../support/graphql-socket.ts';

const status = 'subscription($id: ID!) { appStatus(id: $id) { id status } }';
const me = '{ me { id } }';

interface Result {
  data?: Record<string, unknown> | null;
  errors?: readonly { message: string; extensions?: Record<string, unknown> }[];
}

describe('GraphQL over WebSocket', () => {
  let api: GraphqlGateway;
  const recorded: AuditedRequest[] = [];
  before(async () => {
    const audit = {
      during: async <T>(request: AuditedRequest, work: () => T | Promise<T>): Promise<T> => {
        recorded.push(request);
        return work();
      },
    };
    api = await startGraphql({ audit, perPersonMax: 20, sockets: { operationsMax: 5 } });
  });
  after(() => api.close());

  const open = (headers: Record<string, string> = {}, protocols?: string[]) =>
    RawGraphqlSocket.open(api.url, headers, protocols);
  const start = (userId = 'usr_ann') =>
    RawGraphqlSocket.start(api.url, { cookie: api.cookie(userId) });
  const write = (...changes: Parameters<typeof api.fixture.accounts.store.write>[0]) =>
    api.fixture.accounts.store.write(changes);
  const allGone = () => eventually('all sockets are gone', () => api.sockets.size === 0);

  it('serves queries, mutations and subscriptions to the client that others use', async () => {
    write(put(tables.apps, appRecord('app_w', 'team_a', { status: 'idle' })));
    const cookie = api.cookie('usr_ann');
    class WithCookie extends WebSocket {
      constructor(url: string, protocols: string) {
        super(url, protocols, { headers: { cookie, 'user-agent': 'a browser' } });
      }
    }
    const client = createClient({
      url: api.url.replace('http', 'ws'),
      webSocketImpl: WithCookie,
      retryAttempts: 0,
    });
    const once = async (query: string): Promise<Result> => {
      for await (const result of client.iterate({ query })) return result as Result;
      assert.fail('no result');
    };
    assert.deepEqual(await once(me), { data: { me: { id: 'usr_ann' } } });
    const made = await once('mutation { createFolder(name: "by socket") { name } }');
    assert.deepEqual(made, { data: { createFolder: { name: 'by socket' } } });
    const { action, address, userAgent, principal } = recorded.at(-1)!;
    assert.deepEqual([action, address, userAgent], ['createFolder', '127.0.0.1', 'a browser']);
    assert.equal(principal.kind === 'person' && principal.userId, 'usr_ann');
    const results = client.iterate({ query: status, variables: { id: 'app_w' } });
    const next = async () => (await results.next()).value as Result;
    assert.deepEqual(await next(), { data: { appStatus: { id: 'app_w', status: 'idle' } } });
    write(put(tables.apps, appRecord('app_w', 'team_a', { status: 'queued' })));
    assert.deepEqual(await next(), { data: { appStatus: { id: 'app_w', status: 'queued' } } });
    await results.return?.();
    await client.dispose();
    await allGone();
  });

  it('tells what is refused as the error of its operation, which ends it', async () => {
    const socket = await start();
    for (const [query, code] of [
      ['{ nonsense }', 'GRAPHQL_VALIDATION_FAILED'],
      ['{ me {', 'GRAPHQL_PARSE_FAILED'],
      ['subscription { appStatus(id: "app_x") { id } }', 'NOT_FOUND'],
    ] as const) {
      socket.subscribe('1', query);
      const { type, payload } = (await socket.next())!;
      assert.equal(type, 'error');
      assert.equal((payload as Result['errors'])?.[0]?.extensions?.['code'], code);
    }
    socket.subscribe('1', 'mutation { deleteFolder(id: "fld_none") }');
    const partial = (await socket.next())!;
    assert.equal(partial.type, 'next');
    assert.equal((partial.payload as Result).errors?.[0]?.extensions?.['code'], 'NOT_FOUND');
    assert.deepEqual(await socket.next(), { id: '1', type: 'complete' });
    await socket.close();
  });

  it('refuses mutations that set cookies', async () => {
    const socket = await RawGraphqlSocket.start(api.url);
    socket.subscribe(
      '1',
      'mutation { login(email: "a@b.c", password: "12345678") { __typename } }',
    );
    const { payload } = (await socket.next())!;
    assert.equal((payload as Result).errors?.[0]?.extensions?.['code'], 'FORBIDDEN');
    await socket.close();
  });

  it('answers ping, and takes pong', async () => {
    const socket = await open();
    socket.send({ type: 'pong' });
    socket.send({ type: 'ping', payload: { a: 1 } });
    assert.deepEqual(await socket.next(), { type: 'pong' });
    await socket.close();
  });

  it('closes with 4400 at whatever is no message', async () => {
    const wrong = [
      'nonsense',
      '[]',
      'null',
      '{"type":"nothing"}',
      '{"type":"connection_init","payload":7}',
      '{"type":"complete"}',
      '{"type":"subscribe","id":"","payload":{"query":"{ me { id } }"}}',
      '{"type":"subscribe","id":7,"payload":{"query":"{ me { id } }"}}',
      `{"type":"complete","id":"${'x'.repeat(129)}"}`,
      Buffer.from('{"type":"ping"}'),
    ];
    for (const text of wrong) {
      const socket = await open();
      socket.socket.send(text, { binary: typeof text !== 'string' });
      assert.equal((await socket.closed).code, 4400, String(text));
    }
    for (const payload of [{}, { query: '' }, { query: me, variables: [] }, { query: 7 }]) {
      const socket = await start();
      socket.send({ type: 'subscribe', id: '1', payload });
      assert.equal((await socket.closed).code, 4400, JSON.stringify(payload));
    }
    await allGone();
  });

  it('closes with 4401 what subscribes before it is acknowledged, and runs nothing', async () => {
    const socket = await open({ cookie: api.cookie('usr_ann') });
    const count = recorded.length;
    socket.subscribe('1', 'mutation { createFolder(name: "early") { name } }');
    assert.equal((await socket.closed).code, 4401);
    assert.equal(recorded.length, count);
  });

  it('closes with 4406 what does not offer the subprotocol, and with 4429 what begins twice', async () => {
    for (const protocols of [[], ['graphql-ws']]) {
      const socket = new WebSocket(api.url.replace('http', 'ws'), protocols);
      socket.on('error', () => undefined);
      // Where another protocol was offered the client gives up by itself.
      if (protocols.length > 0) continue;
      const code = await new Promise((resolve) => socket.on('close', resolve));
      assert.equal(code, 4406);
    }
    const twice = await start();
    twice.send({ type: 'connection_init' });
    assert.equal((await twice.closed).code, 4429);
    const several = await open({}, ['other', 'graphql-transport-ws']);
    assert.equal(several.socket.protocol, 'graphql-transport-ws');
    await several.close();
    await allGone();
  });

  it('closes with 4409 at an id that is taken, and takes it again once it is over', async () => {
    const socket = await start();
    socket.subscribe('a', me);
    assert.equal((await socket.next())?.type, 'next');
    assert.equal((await socket.next())?.type, 'complete');
    socket.subscribe('a', status, { id: 'app_1' });
    assert.equal((await socket.next())?.type, 'next');
    socket.send({ type: 'complete', id: 'a' });
    socket.subscribe('a', status, { id: 'app_1' });
    assert.equal((await socket.next())?.type, 'next');
    socket.subscribe('a', me);
    assert.equal((await socket.closed).code, 4409);
    await allGone();
  });

  it('cuts off what sends a longer message than it takes', async () => {
    const socket = await start();
    socket.subscribe('1', `#${'x'.repeat(130 * 1024)}\n${me}`);
    assert.equal((await socket.closed).code, 1006);
    const pieces = await start();
    for (let i = 0; i < 5; i++) pieces.socket.send('x'.repeat(40 * 1024), { fin: false });
    assert.equal((await pieces.closed).code, 1006);
    await allGone();
  });

  it('takes the session cookie from its own pages and from no browser, and from nobody else', async () => {
    const cookie = api.cookie('usr_ann');
    for (const headers of [
      { origin: 'https://evil.example' },
      { origin: 'null' },
      { origin: 'http://127.0.0.1:3001' },
      { 'sec-fetch-site': 'same-site', origin: 'http://127.0.0.1:3001' },
      { 'sec-fetch-site': 'cross-site' },
    ]) {
      await assert.rejects(open({ cookie, ...headers }), new RefusedHandshake(403));
    }
    for (const headers of [
      {},
      { origin: 'http://127.0.0.1:3000' },
      { origin: 'http://127.0.0.1:3000', 'sec-fetch-site': 'same-origin' },
    ]) {
      const socket = await RawGraphqlSocket.start(api.url, { cookie, ...headers });
      socket.subscribe('1', me);
      const { payload } = (await socket.next())!;
      assert.deepEqual(payload, { data: { me: { id: 'usr_ann' } } });
      await socket.close();
    }
  });

  it('takes nothing but a token from a page of another site', async () => {
    const origin = 'https://evil.example';
    const nobody = await open({ origin });
    nobody.send({ type: 'connection_init' });
    assert.equal((await nobody.closed).code, 4403);
    const authorization = `Bearer ${api.token()}`;
    const socket = await RawGraphqlSocket.start(api.url, { origin }, { authorization });
    socket.subscribe('1', 'query { myTeams { id } }');
    assert.equal((await socket.next())?.type, 'next');
    await socket.close();
  });

  it('takes a token in connection_init before a cookie, and refuses a bad one with 4403', async () => {
    const headers = { cookie: api.cookie('usr_bob') };
    const authorization = `Bearer ${api.token('usr_ann')}`;
    const socket = await RawGraphqlSocket.start(api.url, headers, { authorization });
    socket.subscribe('1', '{ viewerTeam { id } }');
    const { payload } = (await socket.next())!;
    assert.deepEqual(payload, { data: { viewerTeam: { id: 'team_a' } } });
    await socket.close();
    for (const bad of ['Bearer gwy_no', 'gwy_no', '', 7, {}]) {
      const refused = await open(headers);
      refused.send({ type: 'connection_init', payload: { authorization: bad } });
      assert.equal((await refused.closed).code, 4403, JSON.stringify(bad));
    }
    const byHeader = { authorization: 'Bearer gwy_no' };
    await assert.rejects(open(byHeader), new RefusedHandshake(401));
  });

  it('acts in the team that connection_init names, and refuses one that the caller is not in', async () => {
    const headers = { cookie: api.cookie('usr_ann') };
    api.fixture.accounts.addTeam('team_c', 'usr_ann');
    const socket = await RawGraphqlSocket.start(api.url, headers, { team: 'team_c' });
    socket.subscribe('1', '{ viewerTeam { id } }');
    assert.deepEqual((await socket.next())?.payload, { data: { viewerTeam: { id: 'team_c' } } });
    await socket.close();
    const foreign = await open(headers);
    foreign.send({ type: 'connection_init', payload: { team: 'team_b' } });
    const { code, reason } = await foreign.closed;
    assert.equal(code, 4403);
    assert.doesNotMatch(reason, /team_b/);
  });

  it('ends what was opened by a right, a session or a token with it', async () => {
    write(put(tables.apps, appRecord('app_r', 'team_a')));
    const viewer = await start('usr_vic');
    viewer.subscribe('1', status, { id: 'app_r' });
    assert.equal((await viewer.next())?.type, 'next');
    const member = api.fixture.accounts.store.get(tables.members, ['team_a', 'usr_vic'])!;
    write(remove(tables.members, ['team_a', 'usr_vic']));
    const last = await viewer.next();
    assert.ok(last === undefined || last.type === 'error', JSON.stringify(last));
    assert.equal((await viewer.closed).code, 4401);
    write(put(tables.members, member));

    const sessions = (): string[] =>
      [...api.fixture.accounts.store.scan(tables.auth)]
        .filter((one) => one.model === 'session')
        .map(({ id }) => id);
    const known = new Set(sessions());
    const idle = await start();
    const [session = ''] = sessions().filter((id) => !known.has(id));
    write(remove(tables.auth, ['session', session]));
    assert.equal((await idle.closed).code, 4401);

    const tokens = new Set([...api.fixture.accounts.store.scan(tables.tokens)].map(({ id }) => id));
    const authorization = `Bearer ${api.token()}`;
    const byToken = await RawGraphqlSocket.start(api.url, {}, { authorization });
    const made = [...api.fixture.accounts.store.scan(tables.tokens)].find(
      ({ id }) => !tokens.has(id),
    );
    write(remove(tables.tokens, made!.id));
    assert.equal((await byToken.closed).code, 4401);
    await allGone();
  });

  it('runs so many operations of a connection at a time', async () => {
    const socket = await start();
    for (let i = 0; i < 6; i++) socket.subscribe(String(i), status, { id: 'app_1' });
    const frames = [];
    for (let i = 0; i < 6; i++) frames.push(await socket.next());
    const [refused, ...others] = frames.filter((one) => one?.type === 'error');
    assert.equal(refused?.id, '5');
    assert.deepEqual(others, []);
    await socket.close();
    await allGone();
  });

  it("counts a person's connections and operations with the streams over SSE", async () => {
    const cookie = api.cookie('usr_bob');
    const body = { query: status, variables: { id: 'app_x' } };
    const sse = () => api.post(body, { cookie, accept: 'text/event-stream' });
    const held = await Promise.all(Array.from({ length: 17 }, sse));
    const socket = await RawGraphqlSocket.start(api.url, { cookie });
    socket.subscribe('1', status, { id: 'app_x' });
    socket.subscribe('2', status, { id: 'app_x' });
    socket.subscribe('3', status, { id: 'app_x' });
    const frames = [await socket.next(), await socket.next(), await socket.next()];
    const refused = frames.filter((one) => one?.type === 'error');
    assert.deepEqual(
      refused.map((one) => one?.id),
      ['3'],
    );
    const code = (refused[0]?.payload as Result['errors'])?.[0]?.extensions?.['code'];
    assert.equal(code, 'TOO_MANY_STREAMS');
    assert.equal((await sse()).status, 429);
    const more = await open({ cookie });
    more.send({ type: 'connection_init' });
    assert.equal((await more.closed).code, 1013);
    await socket.close();
    await eventually('its places are free', async () => {
      const again = await sse();
      await again.body?.cancel();
      return again.status === 200;
    });
    for (const one of held) await one.body?.cancel();
  });

  it('refuses connections of a network of which too many wait, and no others', async () => {
    const waiting = await Promise.all(Array.from({ length: 20 }, () => open()));
    await assert.rejects(open(), new RefusedHandshake(429));
    waiting[0]!.send({ type: 'connection_init' });
    assert.equal((await waiting[0]!.next())?.type, 'connection_ack');
    await (await open()).close();
    for (const socket of waiting) await socket.close();
    await allGone();
  });

  it('refuses what is no WebSocket of version 13, and a body, over HTTP', async () => {
    const base = { Connection: 'Upgrade', 'Sec-WebSocket-Key': 'dGhlIHNhbXBsZSBub25jZQ==' };
    const { request } = await import('node:http');
    const ask = (headers: Record<string, string>) =>
      new Promise<number>((resolve, reject) => {
        const req = request(api.url, { headers: { ...base, ...headers } });
        req.on('response', (res) => {
          res.resume();
          resolve(res.statusCode ?? 0);
        });
        req.on('upgrade', (_res, socket) => {
          socket.destroy();
          resolve(101);
        });
        req.on('error', reject);
        req.end();
      });
    const version = { 'Sec-WebSocket-Version': '13' };
    assert.equal(await ask({ ...version, Upgrade: 'websocket' }), 101);
    assert.equal(await ask({ 'Sec-WebSocket-Version': '8', Upgrade: 'websocket' }), 400);
    assert.equal(await ask({ ...version, Upgrade: 'h2c' }), 400);
    assert.equal(await ask({ ...version, Upgrade: 'websocket', 'Content-Length': '0' }), 400);
    await allGone();
  });

  it('shows in the metrics and in the log of requests', async () => {
    const socket = await start();
    socket.subscribe('1', status, { id: 'app_1' });
    await socket.next();
    const text = await api.gateway.gateway.metrics.text();
    assert.match(text, /^gangway_http_websockets 1$/m);
    assert.match(text, /status="1xx"} \d/);
    const families = api.sockets.families().map(({ name, samples }) => [name, samples[0]?.value]);
    assert.deepEqual(families[0], ['gangway_graphql_sockets', 1]);
    assert.deepEqual(families[1], ['gangway_graphql_socket_operations', 1]);
    assert.ok(api.sockets.families()[2]!.samples.some(({ labels }) => labels?.['code'] === '4400'));
    await socket.close();
    await eventually('the connection counts no more', async () => {
      return /^gangway_http_websockets 0$/m.test(await api.gateway.gateway.metrics.text());
    });
    await eventually('no connection is counted that is gone', async () => {
      const shown = /^gangway_http_sockets (\d+)$/m.exec(await api.gateway.gateway.metrics.text());
      return Number(shown?.[1]) <= 3;
    });
  });
});
