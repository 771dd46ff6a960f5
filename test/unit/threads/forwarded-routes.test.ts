import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { MessageChannel } from 'node:worker_threads';
import type { Exchange, Route } from '../../../src/gateway/transport.ts';
import { homeDoors, threadDoors } from '../../../src/threads/doors.ts';
import { forwardedRoutes, homeRoutes } from '../../../src/threads/forwarded-routes.ts';
import { openDoor, serveDoor } from '../../../src/threads/remote-door.ts';
import { ServiceError } from '../../../src/lib/errors.ts';
import { PortCalls } from '../../../src/threads/port-calls.ts';
import { eventually } from '../../support/eventually.ts';
import { startGateway, type TestGateway } from '../../support/gateway.ts';
import { memoryLogger } from '../../support/memory-logger.ts';
import { RawClient } from '../../support/raw-http.ts';

const frozen = Object.freeze({ 'Content-Type': 'text/plain', 'Cache-Control': 'public' });
const waiting: { exchange: Exchange; signal: AbortSignal; calledBack: boolean }[] = [];

/** What handlers may do with an exchange, each by a route of its own. */
const routes: Route[] = [
  {
    method: 'GET',
    path: '/told/:name/of/:what',
    handle(exchange) {
      const { method, route, address, fromLoopback, secure, query, aborted } = exchange;
      exchange.json(200, {
        params: [exchange.param('name'), exchange.param('what'), { ...exchange.params }],
        query: [...query],
        cookies: exchange.header('cookie'),
        twice: [exchange.header('x-twice'), exchange.headerCount('x-twice')],
        none: [exchange.header('x-none'), exchange.headerCount('x-none')],
        ...{ method, route, address, fromLoopback, secure, aborted },
      });
    },
  },
  {
    method: 'GET',
    path: '/cookies',
    handle(exchange) {
      exchange.addHeader('Set-Cookie', 'a=1; Path=/');
      exchange.addHeader('Set-Cookie', 'b=2; HttpOnly');
      exchange.note({ rpc: 'noted', client: 'a client' });
      exchange.send(303, { Location: '/elsewhere', 'Referrer-Policy': 'same-origin' }, '');
    },
  },
  { method: 'GET', path: '/frozen', handle: (exchange) => exchange.send(200, frozen, 'as ever') },
  {
    method: 'GET',
    path: '/bytes',
    handle: (exchange) => exchange.send(200, {}, Buffer.from('some of a pool: \u00e9')),
  },
  {
    method: 'GET',
    path: '/large',
    handle: (exchange) => exchange.send(200, {}, new Uint8Array(300_000).fill(97)),
  },
  { method: 'OPTIONS', path: '/bytes', handle: (exchange) => exchange.send(204, {}, '') },
  {
    method: 'GET',
    path: '/missing-parameter',
    handle: (exchange) => exchange.send(200, {}, exchange.param('none')),
  },
  {
    method: 'GET',
    path: '/problem',
    handle(exchange) {
      exchange.addHeader('X-Before', 'kept');
      throw new ServiceError('RATE_LIMITED', 'Later.', {
        retryAfterS: 3.2,
        headers: { Allow: 'GET' },
        extensions: { left: 0, requestId: 'not this one' },
      });
    },
  },
  { method: 'GET', path: '/bug', handle: () => Promise.reject(new Error('a secret')) },
  {
    method: 'GET',
    path: '/bug-after',
    handle(exchange) {
      exchange.json(200, 'first');
      throw new Error('too late to tell');
    },
  },
  {
    method: 'GET',
    path: '/twice',
    handle(exchange) {
      exchange.json(200, 'first');
      exchange.json(200, 'second');
    },
  },
  {
    method: 'POST',
    path: '/body',
    async handle(exchange) {
      exchange.json(201, (await exchange.body(16)).toString());
    },
  },
  {
    method: 'POST',
    path: '/lent',
    handle(exchange) {
      exchange.lendBody(
        16,
        (body) => exchange.json(200, body.toString()),
        (reason) => exchange.json(reason.status, reason.code),
      );
    },
  },
  {
    method: 'DELETE',
    path: '/streamed',
    handle(exchange) {
      const heard: string[] = [];
      const flow = exchange.streamBody(64, {
        chunk(bytes) {
          heard.push(Buffer.from(bytes).toString());
          setImmediate(() => flow.resume());
          return false;
        },
        end: () => exchange.json(200, heard.join('')),
        fail: (reason) => heard.push(String(reason)),
      });
    },
  },
  {
    method: 'POST',
    path: '/unread',
    handle() {
      throw new ServiceError('CROSS_SITE', 'The request comes from another site.');
    },
  },
  {
    method: 'POST',
    path: '/waits',
    handle(exchange) {
      const entry = { exchange, signal: exchange.signal, calledBack: false };
      exchange.onAbort(() => {
        entry.calledBack = true;
      });
      waiting.push(entry);
    },
  },
];

/** A gateway whose routes are answered over a port, as on another thread. */
async function startForwarding() {
  const { port1, port2 } = new MessageChannel();
  const logger = memoryLogger();
  const refused: string[] = [];
  const home = new PortCalls(port1, { logger });
  const thread = new PortCalls(port2, { logger });
  const answering = homeRoutes({
    routes,
    bodies: openDoor(home, threadDoors.bodies),
    logger,
    refused: (code) => refused.push(code),
    dropped: () => undefined,
  });
  serveDoor(home, homeDoors.routes, answering);
  const forwarded = forwardedRoutes({ routes, home: openDoor(thread, homeDoors.routes) });
  serveDoor(thread, threadDoors.bodies, forwarded.bodies);
  const gateway = await startGateway(forwarded.routes);
  return { ...gateway, home, thread, logger, refused };
}

const requests: Record<string, string> = {
  'what stands in the head':
    'GET /told/anna/of/x%20y?a=1&a=2&b=%26%zz+c HTTP/1.1\r\nHost: a\r\nCookie: a=1\r\nCookie: b=2\r\n' +
    'X-Twice: one\r\nX-Twice: two\r\nX-Forwarded-For: 192.0.2.1\r\n\r\n',
  'cookies and a redirect': 'GET /cookies HTTP/1.1\r\nHost: a\r\n\r\n',
  'headers that never change': 'GET /frozen HTTP/1.1\r\nHost: a\r\n\r\n',
  bytes: 'GET /bytes HTTP/1.1\r\nHost: a\r\n\r\n',
  'a large answer': 'GET /large HTTP/1.1\r\nHost: a\r\n\r\n',
  'a bug before the answer': 'GET /missing-parameter HTTP/1.1\r\nHost: a\r\n\r\n',
  'a refusal': 'GET /problem HTTP/1.1\r\nHost: a\r\n\r\n',
  'a bug': 'GET /bug HTTP/1.1\r\nHost: a\r\n\r\n',
  'a bug behind the answer': 'GET /bug-after HTTP/1.1\r\nHost: a\r\n\r\n',
  'a second answer': 'GET /twice HTTP/1.1\r\nHost: a\r\n\r\n',
  'a body': 'POST /body HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello',
  'no body': 'POST /body HTTP/1.1\r\nHost: a\r\n\r\n',
  'chunks of a body':
    'POST /body HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nhel\r\n2\r\nlo\r\n0\r\n\r\n',
  'a body above the bound of its handler': `POST /body HTTP/1.1\r\nHost: a\r\nContent-Length: 17\r\n\r\n${'x'.repeat(17)}`,
  'a body above every bound':
    'POST /body HTTP/1.1\r\nHost: a\r\nContent-Length: 9000000\r\n\r\nxxxx',
  'a lent body': 'POST /lent HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello',
  'a lent body above the bound': `POST /lent HTTP/1.1\r\nHost: a\r\nContent-Length: 17\r\n\r\n${'x'.repeat(17)}`,
  'a body by chunks': 'DELETE /streamed HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello',
  'a refusal ahead of the body':
    'POST /unread HTTP/1.1\r\nHost: a\r\nContent-Length: 9000000\r\n\r\nxxxx',
  'a refusal ahead of a short body that does not come':
    'POST /unread HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\n',
  'another method': 'DELETE /bytes HTTP/1.1\r\nHost: a\r\n\r\n',
};

async function answerOf(port: number, request: string): Promise<string> {
  const client = new RawClient(port);
  try {
    client.write(request);
    const text = (): string => client.received;
    await client.until(() => client.ended !== undefined || isWhole(text()));
    const id = /x-request-id: (\w+)/i.exec(text())?.[1] ?? assert.fail(`no id: ${text()}`);
    return text().replaceAll(id, '<id>');
  } finally {
    client.socket.destroy();
  }
}

function isWhole(text: string): boolean {
  const end = text.indexOf('\r\n\r\n');
  if (end < 0) return false;
  const length = /content-length: (\d+)/i.exec(text.slice(0, end))?.[1];
  return length === undefined || text.length >= end + 4 + Number(length);
}

describe('forwardedRoutes()', () => {
  let direct: TestGateway;
  let forwarding: Awaited<ReturnType<typeof startForwarding>>;
  before(async () => {
    direct = await startGateway(routes);
    forwarding = await startForwarding();
  });
  after(async () => {
    await Promise.all([direct.close(), forwarding.close()]);
    forwarding.home.close();
  });

  for (const [what, request] of Object.entries(requests)) {
    it(`answers ${what} byte for byte as the route itself`, async () => {
      const expected = await answerOf(direct.port, request);
      assert.equal(await answerOf(forwarding.port, request), expected);
    });
  }

  it('shows the request in the access log of its own thread, with what was noted of it', async () => {
    const response = await fetch(`${forwarding.url}/cookies`, { redirect: 'manual' });
    const id = response.headers.get('x-request-id');
    const line = forwarding.records.find(
      ({ event, fields }) =>
        event === 'request' && (fields as { requestId: string }).requestId === id,
    );
    assert.deepEqual(
      { route: '/cookies', status: 303, rpc: 'noted', client: 'a client' },
      pick(line?.fields, ['route', 'status', 'rpc', 'client']),
    );
  });

  it('logs a bug where its handler is, by the id of the request', async () => {
    const response = await fetch(`${forwarding.url}/bug`);
    const { requestId } = (await response.json()) as { requestId: string };
    const logged = forwarding.logger.events.filter(({ event }) => event === 'request_failed');
    assert.equal((logged.at(-1)?.fields as { requestId: string }).requestId, requestId);
    assert.equal(forwarding.refused.at(-1), 'INTERNAL');
  });

  it('aborts the exchange when the client leaves, also while its body is waited for', async () => {
    const client = new RawClient(forwarding.port);
    client.write('POST /waits HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\n');
    await eventually('the handler runs', () => waiting.length === 1);
    const [entry] = waiting.splice(0);
    assert.ok(entry);
    let settled = false;
    void entry.exchange.body(100).finally(() => (settled = true));
    client.socket.destroy();
    await eventually('it is told', () => entry.signal.aborted);
    assert.deepEqual([entry.calledBack, entry.exchange.aborted, settled], [true, true, false]);
    entry.exchange.json(200, 'to nobody');
    await eventually('nothing is under way', () => forwarding.thread.underWay === 0);
    const failures = forwarding.records.filter(({ event }) => event === 'request_failed');
    assert.deepEqual(failures, []);
  });

  it('answers a stream with a clear failure of ours', async () => {
    const client = new RawClient(forwarding.port);
    client.write('POST /waits HTTP/1.1\r\nHost: a\r\n\r\n');
    await eventually('the handler runs', () => waiting.length === 1);
    const [entry] = waiting.splice(0);
    assert.throws(() => entry?.exchange.stream(200, {}), /Cannot stream \/waits/);
    entry?.exchange.json(200, 'instead');
    assert.equal((await client.answer()).body, '"instead"');
    client.socket.destroy();
  });

  it('answers SHUTTING_DOWN when the other thread is gone', async () => {
    const own = await startForwarding();
    const client = new RawClient(own.port);
    client.write('POST /waits HTTP/1.1\r\nHost: a\r\n\r\n');
    await eventually('the handler runs', () => waiting.length === 1);
    waiting.splice(0);
    own.home.close();
    const { status, body } = await client.answer();
    assert.deepEqual([status, (JSON.parse(body) as { code: string }).code], [503, 'SHUTTING_DOWN']);
    assert.equal((await fetch(`${own.url}/cookies`)).status, 503);
    client.socket.destroy();
    await own.close();
  });
});

function pick(fields: object | undefined, names: readonly string[]): object {
  return Object.fromEntries(Object.entries(fields ?? {}).filter(([name]) => names.includes(name)));
}
