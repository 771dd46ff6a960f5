import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { Route } from '../../src/gateway/transport.ts';
import { healthRoute } from '../../src/gateway/transports/health.ts';
import { ServiceError } from '../../src/lib/errors.ts';
import { startGateway, type TestGateway } from '../support/gateway.ts';
import { RawClient } from '../support/raw-http.ts';

const routes: Route[] = [
  healthRoute,
  {
    method: 'POST',
    path: '/api/apps/:id/echo',
    async handle(exchange) {
      const body = await exchange.body(1024);
      exchange.json(200, {
        id: exchange.param('id'),
        query: [...exchange.query],
        body: body.toString(),
        team: exchange.header('x-team'),
        route: exchange.route,
      });
    },
  },
  {
    method: 'GET',
    path: '/limited',
    handle() {
      throw new ServiceError('RATE_LIMITED', 'Too fast.', { retryAfterS: 2.5 });
    },
  },
  {
    method: 'GET',
    path: '/broken',
    async handle() {
      await Promise.resolve();
      throw new Error('/var/secret is missing');
    },
  },
  {
    method: 'GET',
    path: '/injected',
    handle(exchange) {
      exchange.addHeader('Set-Cookie', 'a=1');
      exchange.addHeader('Set-Cookie', 'b=2\r\nX-Evil: 1');
      exchange.send(204, {}, '');
    },
  },
];

describe('the gateway and its routes', () => {
  let server: TestGateway;
  before(async () => {
    server = await startGateway(routes);
  });
  after(() => server.close());

  it('answers liveness exactly, and nothing but it', async () => {
    const answer = await fetch(`${server.url}/api/health`);
    assert.equal(answer.status, 200);
    assert.equal(answer.headers.get('content-type'), 'application/json');
    assert.equal(answer.headers.get('cache-control'), 'no-store');
    assert.equal(await answer.text(), '{"ok":true}');
  });

  it('answers HEAD of liveness without a body and keeps the connection', async () => {
    const client = new RawClient(server.port);
    client.write('HEAD /api/health HTTP/1.1\r\nHost: a\r\n\r\n');
    await client.until(() => client.received.endsWith('\r\n\r\n'));
    assert.match(client.received, /^HTTP\/1\.1 200 OK\r\n[^]*Content-Length: 11\r\n/);
    client.received = '';
    client.write('GET /api/health HTTP/1.1\r\nHost: a\r\n\r\n');
    assert.equal((await client.answer()).body, '{"ok":true}');
    client.destroy();
  });

  it('gives a handler its parameter, query, headers and body', async () => {
    const answer = await fetch(`${server.url}/api/apps/app_1%20x/echo?a=1&a=2`, {
      method: 'POST',
      body: 'hello',
      headers: { 'X-Team': 'blue' },
    });
    assert.deepEqual(await answer.json(), {
      id: 'app_1 x',
      query: [
        ['a', '1'],
        ['a', '2'],
      ],
      body: 'hello',
      team: 'blue',
      route: '/api/apps/:id/echo',
    });
    assert.match(answer.headers.get('x-request-id') ?? '', /^[0-9a-z]{16,}$/);
    assert.equal(answer.headers.get('x-content-type-options'), 'nosniff');
  });

  it('answers an unknown path with a 404 problem', async () => {
    const answer = await fetch(`${server.url}/nowhere`);
    assert.equal(answer.status, 404);
    assert.equal(answer.headers.get('content-type'), 'application/problem+json');
    const requestId = answer.headers.get('x-request-id');
    assert.deepEqual(await answer.json(), {
      type: 'about:blank',
      title: 'Not Found',
      status: 404,
      code: 'NOT_FOUND',
      detail: 'There is nothing at this address.',
      requestId,
    });
  });

  it('answers a known path with another method by 405 and Allow', async () => {
    for (const [path, method, allow] of [
      ['/api/health', 'POST', 'GET, HEAD'],
      ['/api/health', 'OPTIONS', 'GET, HEAD'],
      ['/api/apps/x/echo', 'GET', 'POST'],
      ['/api/apps/x/echo', 'PATCH', 'POST'],
      ['/limited', 'HEAD', 'GET'],
    ] as const) {
      const answer = await fetch(server.url + path, { method });
      assert.equal(answer.status, 405, `${method} ${path}`);
      assert.equal(answer.headers.get('allow'), allow);
      if (method !== 'HEAD') {
        assert.equal(((await answer.json()) as { code: string }).code, 'METHOD_NOT_ALLOWED');
      }
    }
  });

  it('never normalises a path into a route', async () => {
    for (const path of [
      '/api/health/',
      '//api/health',
      '/api//health',
      '/api/healt%68',
      '/API/health',
      '/x/../api/health',
      '/./api/health',
      '/api/apps//echo',
      '/api/apps/%zz/echo',
      '/api/apps/a%2Fb/echo',
      '/api/apps/%2e%2e/echo',
      '/api/apps/a%00/echo',
      '/api/apps/a/echo/',
    ]) {
      const client = new RawClient(server.port);
      client.write(`POST ${path} HTTP/1.1\r\nHost: a\r\n\r\n`);
      assert.equal((await client.answer()).status, 404, path);
      client.destroy();
    }
  });

  it('treats a method in lower case as another method', async () => {
    const client = new RawClient(server.port);
    client.write('get /api/health HTTP/1.1\r\nHost: a\r\n\r\n');
    assert.equal((await client.answer()).status, 405);
    client.destroy();
  });

  it('says when to come again, in whole seconds', async () => {
    const answer = await fetch(`${server.url}/limited`);
    assert.equal(answer.status, 429);
    assert.equal(answer.headers.get('retry-after'), '3');
  });

  it('answers a bug with a bare 500 and logs its cause', async () => {
    const answer = await fetch(`${server.url}/broken`);
    assert.equal(answer.status, 500);
    assert.doesNotMatch(await answer.text(), /secret/);
    const record = server.records.find((one) => one.event === 'request_failed');
    assert.match(String((record?.fields as { err: Error }).err), /secret/);
  });

  it('repeats added headers and lets no value end a line', async () => {
    const answer = await fetch(`${server.url}/injected`);
    assert.equal(answer.status, 204);
    assert.equal(answer.headers.get('content-length'), null);
    assert.deepEqual(answer.headers.getSetCookie(), ['a=1', 'b=2  X-Evil: 1']);
    assert.equal(answer.headers.get('x-evil'), null);
  });

  it('logs the template, never the path or the query', async () => {
    server.records.length = 0;
    await fetch(`${server.url}/api/apps/topsecret/echo?token=abc`, { method: 'POST', body: '' });
    const record = server.records.find((one) => one.event === 'request');
    assert.doesNotMatch(JSON.stringify(record), /topsecret|token|abc/);
    const { route, method, status, address } = record?.fields as Record<string, unknown>;
    assert.deepEqual(
      { route, method, status, address },
      { route: '/api/apps/:id/echo', method: 'POST', status: 200, address: '127.0.0.1' },
    );
  });
});

describe('a handler', () => {
  let server: TestGateway;
  const wants: Record<string, Route['handle']> = {
    async '/later'(exchange) {
      await Promise.resolve();
      exchange.send(200, {}, 'later');
    },
    '/whole'(exchange) {
      exchange.addHeader('X-Address', exchange.address);
      exchange.json(201, { query: exchange.query.get('a'), team: exchange.header('x-team') });
    },
    '/throws'() {
      throw new ServiceError('CONFLICT', 'Not now.');
    },
    async '/rejects'() {
      await Promise.resolve();
      throw new Error('secret');
    },
    '/both'(exchange) {
      exchange.send(200, {}, 'sent');
      throw new Error('after the answer');
    },
    '/never': () => undefined,
  };
  before(async () => {
    const routes = Object.entries(wants).map(([path, handle]): Route => {
      return { method: 'GET', path, handle };
    });
    server = await startGateway(routes);
  });
  after(() => server.close());

  it('may answer at once, later, or not at all', async () => {
    for (let round = 0; round < 3; round++) {
      assert.equal(await (await fetch(`${server.url}/later`)).text(), 'later');
      const whole = await fetch(`${server.url}/whole?a=1`, { headers: { 'X-Team': 'blue' } });
      assert.equal(whole.status, 201);
      assert.equal(whole.headers.get('x-address'), '127.0.0.1');
      assert.deepEqual(await whole.json(), { query: '1', team: 'blue' });
      assert.equal((await fetch(`${server.url}/throws`)).status, 409);
      assert.equal((await fetch(`${server.url}/rejects`)).status, 500);
      assert.equal(await (await fetch(`${server.url}/both`)).text(), 'sent');
    }
    assert.ok(server.records.some((one) => one.event === 'request_failed'));
  });

  it('survives a client that leaves before the answer', async () => {
    const client = new RawClient(server.port);
    client.write('GET /never HTTP/1.1\r\nHost: a\r\n\r\n');
    await client.until(() => client.socket.bytesWritten > 0);
    client.destroy();
    assert.equal(await (await fetch(`${server.url}/later`)).text(), 'later');
  });
});
