import assert from 'node:assert/strict';
import { connect } from 'node:net';
import type { Socket } from 'node:net';
import { after, afterEach, before, describe, it } from 'node:test';
import { authorize } from '../../src/auth/rights/authorize.ts';
import { logRoutes } from '../../src/gateway/transports/logs.ts';
import { ServiceError } from '../../src/lib/errors.ts';
import { tables } from '../../src/store/records/tables.ts';
import type { AppRecord } from '../../src/store/records/records.ts';
import type { Reader } from '../../src/store/reader-and-journal.ts';
import { eventually } from '../support/eventually.ts';
import { startGateway } from '../support/gateway.ts';
import type { TestGateway } from '../support/gateway.ts';
import { LogBench, log, person } from '../support/log-bench.ts';
import { SseParser } from '../support/sse-parser.ts';
import type { SseEvent } from '../support/sse-parser.ts';

const path = '/api/apps/app_one/logs';
const app = {
  id: 'app_one',
  teamId: 'team_one',
  deletedAtMs: null,
  run: { live: null, next: null, draining: [] } as unknown as AppRecord['run'],
} as AppRecord;
/** Knows one app and who may see its logs; people are named by their cookie in these tests. */
const reader = {
  get: (from: { name: string }, key: unknown) =>
    from.name === tables.apps.name && key === 'app_one' ? app : undefined,
} as unknown as Reader;

let bench: LogBench;
let running: TestGateway;
let clients: Client[] = [];

/** A client of one stream on a socket of its own, which reads as it is told to. */
class Client {
  readonly socket: Socket;
  readonly events: SseEvent[] = [];
  readonly parser = new SseParser();
  head = '';
  /** The log so far. */
  text = '';
  closed = false;
  #raw = Buffer.alloc(0);

  constructor(query = '', user = 'usr_one', headers: Record<string, string> = {}) {
    clients.push(this);
    this.socket = connect(running.port, '127.0.0.1');
    const lines = Object.entries({ host: 'localhost', cookie: user, ...headers });
    this.socket.write(
      `GET ${path}${query} HTTP/1.1\r\n${lines.map((l) => l.join(': ')).join('\r\n')}\r\n\r\n`,
    );
    this.socket.on('error', () => undefined);
    this.socket.on('close', () => (this.closed = true));
    this.socket.on('data', (bytes) => {
      this.#raw = Buffer.concat([this.#raw, bytes]);
      this.#read();
    });
  }

  /** Whether the answer was read to its end. */
  complete = false;

  #read(): void {
    if (this.head === '') {
      const end = this.#raw.indexOf('\r\n\r\n');
      if (end === -1) return;
      this.head = this.#raw.toString('latin1', 0, end);
      this.#raw = this.#raw.subarray(end + 4);
    }
    for (;;) {
      // The line end behind a chunk comes with the next one.
      const start = this.#raw.subarray(0, 2).toString('latin1') === '\r\n' ? 2 : 0;
      const end = this.#raw.indexOf('\r\n', start);
      if (end === -1) return;
      const size = parseInt(this.#raw.toString('latin1', start, end), 16);
      if (this.#raw.length < end + 2 + size) return;
      if (size === 0) this.complete = true;
      for (const event of this.parser.push(this.#raw.subarray(end + 2, end + 2 + size))) {
        this.events.push(event);
        if (event.event === 'data') this.text += JSON.parse(event.data) as string;
      }
      this.#raw = this.#raw.subarray(end + 2 + size);
    }
  }

  get status(): number {
    return Number(this.head.split(' ')[1] ?? 0);
  }

  get sessionId(): string {
    const first = this.events[0];
    return first === undefined ? '' : (JSON.parse(first.data) as string);
  }
}

const numbered = (from: number, to: number) =>
  Array.from({ length: to - from + 1 }, (_, i) => `line ${String(from + i)}\n`).join('');
const write = (from: number, to: number) => {
  bench.streams.write(log, numbered(from, to));
};
const request = (
  query: string,
  init: { method?: string; user?: string; headers?: Record<string, string> } = {},
) =>
  fetch(`${running.url}${path}${query}`, {
    method: init.method ?? 'GET',
    headers: { cookie: init.user ?? 'usr_one', ...init.headers },
  });
const codeOf = async (answer: Response) => ((await answer.json()) as { code: string }).code;
/** Lines come while somebody reads slowly: about 40 MB of them. */
const flood = async (from: number, to: number) => {
  const filler = 'x'.repeat(900);
  for (let i = from; i <= to; i++) {
    bench.streams.write(log, `line ${String(i)} ${filler}\n`);
    if (i % 500 === 0) await new Promise((resolve) => setImmediate(resolve));
  }
};

before(async () => {
  bench = new LogBench({
    writer: { segmentBytes: 4 * 1024 * 1024 },
    sessions: { maxPerPerson: 300, flushMs: 10 },
  });
  running = await startGateway(
    logRoutes({
      reader,
      sessions: bench.sessions,
      logMaxDays: 14,
      placeAnswers: () => Promise.resolve(true),
      authenticate: (exchange) => {
        if (exchange.header('authorization') !== '') {
          throw new ServiceError('COOKIE_REQUIRED', 'Sign in in a browser.');
        }
        if (!exchange.header('cookie').startsWith('usr_')) {
          throw new ServiceError('UNAUTHENTICATED', 'Sign in first.');
        }
        return person(exchange.header('cookie'));
      },
      authorize: (of, who, need, what) => {
        if (who.kind === 'person' && who.userId === 'usr_none') {
          throw new ServiceError('FORBIDDEN', 'This needs the capability view_logs.');
        }
        if (who.kind === 'anonymous') authorize(of, who, need, what);
      },
      refuseCrossSite: (exchange) => {
        if (exchange.header('sec-fetch-site') === 'cross-site') {
          throw new ServiceError('CROSS_SITE', 'Another site sent this.');
        }
      },
    }),
  );
  running.gateway.onDrain(() => bench.sessions.drain());
});
afterEach(async () => {
  for (const client of clients) client.socket.destroy();
  clients = [];
  await eventually('no stream left', () => bench.sessions.size === 0);
  await bench.streams.drop(log);
});
after(async () => {
  await running.close();
  await bench.writer.close();
  bench.remove();
});

describe('log streams over HTTP', () => {
  it('answer with the headers of an event stream and the events of the contract', async () => {
    write(1, 3);
    const client = new Client();
    await eventually('three lines', () => client.text === numbered(1, 3));
    assert.equal(client.status, 200);
    assert.match(client.head, /content-type: text\/event-stream; charset=utf-8/i);
    assert.match(client.head, /cache-control: no-store/i);
    assert.match(client.head, /x-accel-buffering: no/i);
    assert.match(client.sessionId, /^str_/);
    write(4, 4);
    await eventually('a fourth', () => client.text === numbered(1, 4));
  });

  it('refuse what is wrong, with its code', async () => {
    const cases: [answer: Promise<Response>, status: number, code: string][] = [
      [request('', { user: '' }), 401, 'UNAUTHENTICATED'],
      [request('', { headers: { authorization: 'Bearer x' } }), 401, 'COOKIE_REQUIRED'],
      [request('', { user: 'usr_none' }), 403, 'FORBIDDEN'],
      [request('?tail=5001'), 400, 'BAD_USER_INPUT'],
      [request('', { headers: { 'last-event-id': 'x' } }), 400, 'BAD_USER_INPUT'],
      [request('?container=web'), 404, 'NO_SUCH_CONTAINER'],
      [request('', { method: 'DELETE' }), 400, 'BAD_USER_INPUT'],
      [request('', { method: 'POST' }), 405, 'METHOD_NOT_ALLOWED'],
    ];
    for (const [pending, status, code] of cases) {
      const answer = await pending;
      assert.equal(answer.status, status);
      assert.equal(await codeOf(answer), code);
    }
    for (const kind of ['apps', 'databases']) {
      const answer = await fetch(`${running.url}/api/${kind}/none/logs`, {
        headers: { cookie: 'usr_one' },
      });
      assert.equal(answer.status, 404);
      await answer.arrayBuffer();
    }
  });

  it('are closed by DELETE, by their opener only, and the connection goes on', async () => {
    const client = new Client();
    await eventually('the session', () => client.sessionId !== '');
    const query = `?sessionId=${client.sessionId}`;
    const foreign = await request(query, { method: 'DELETE', user: 'usr_two' });
    assert.equal(foreign.status, 403);
    await foreign.arrayBuffer();
    const crossSite = { 'sec-fetch-site': 'cross-site' };
    const crossed = await request(query, { method: 'DELETE', headers: crossSite });
    assert.equal(await codeOf(crossed), 'CROSS_SITE');
    assert.equal((await request(query, { method: 'DELETE' })).status, 204);
    await eventually('the end', () => client.complete);
    assert.equal(client.events.at(-1)?.event, 'exit');
    assert.equal((await request(query, { method: 'DELETE' })).status, 204);
  });

  it('are bounded by person with 429 and Retry-After', async () => {
    for (let i = 0; i < 300; i++) new Client('?tail=0');
    await eventually('300 streams', () => bench.sessions.size === 300);
    const answer = await request('');
    assert.equal(answer.status, 429);
    assert.ok(Number(answer.headers.get('retry-after')) >= 1);
    assert.equal(await codeOf(answer), 'TOO_MANY_STREAMS');
  });

  it('lose nothing for a reader that stops and goes on', async () => {
    const slow = new Client();
    await eventually('the session', () => slow.sessionId !== '');
    slow.socket.pause();
    await flood(1, 30_000);
    slow.socket.resume();
    await eventually('the last line', () => slow.text.includes('line 30000 '), 60_000);
    const offsets = slow.text
      .trimEnd()
      .split('\n')
      .map((line) => Number(line.split(' ')[1]));
    assert.deepEqual(
      offsets,
      Array.from({ length: 30_000 }, (_, i) => i + 1),
    );
    assert.deepEqual(
      slow.parser.comments.filter((comment) => comment.startsWith('gap')),
      [],
    );
  });

  it('resume by hundreds at one place without loss or repeat', async () => {
    write(1, 5);
    const first = new Client('?tail=0');
    await eventually('the session', () => first.sessionId !== '');
    write(6, 2_000);
    const storm = Array.from(
      { length: 250 },
      () => new Client('', 'usr_one', { 'last-event-id': first.events[0]?.id ?? '' }),
    );
    write(2_001, 2_010);
    await eventually('all lines at all', () =>
      storm.every(({ text }) => text.endsWith('line 2010\n')),
    );
    for (const { text } of storm) assert.equal(text, numbered(6, 2_010));
  });

  it('end with exit when the gateway drains', async () => {
    write(1, 2);
    const both = [new Client(), new Client()];
    await eventually('all lines', () => both.every(({ text }) => text === numbered(1, 2)));
    await running.gateway.drain();
    await eventually('the end', () => both.every((client) => client.complete || client.closed));
    for (const client of both) assert.equal(client.events.at(-1)?.event, 'exit');
  });
});
