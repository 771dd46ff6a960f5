import assert from 'node:assert/strict';
import type { RequestListener } from 'node:http';
import net from 'node:net';
import { once } from 'node:events';
import { afterEach, beforeEach, describe, it } from 'node:test';

import { EdgePlace } from '../../../support/edge-place.ts';
import { eventually } from '../../../support/eventually.ts';
import { ManualClock, settle } from '../../../support/manual-clock.ts';
import { freePort } from '../../../support/ports.ts';

describe('Edge', () => {
  let place: EdgePlace;
  beforeEach(async () => {
    place = await new EdgePlace().open();
  });
  afterEach(() => place.close());

  it('brings a request to the app of its host, whatever the port and case', async () => {
    const { port: to } = await place.app((req, res) =>
      res.end(`${req.method ?? ''} ${req.url ?? ''}`),
    );
    place.routeTo(to);
    const answer = await place.ask({
      path: '/x//y?z=1',
      headers: { host: `A.LocalHost:${String(place.port)}` },
    });
    assert.deepEqual([answer.status, answer.body], [200, 'GET /x//y?z=1']);
  });

  it('answers 404 for a host that is no app, without repeating it', async () => {
    const answer = await place.ask({ headers: { host: 'nobody.localhost' } });
    assert.equal(answer.status, 404);
    assert.match(answer.body, /no app/);
    assert.doesNotMatch(answer.body, /nobody/);
  });

  it('knows the host itself before the wildcard above it, which stands for one label', async () => {
    const saying = async (name: string) => {
      const { port } = await place.app((_req, res) => res.end(name));
      return [{ host: '127.0.0.1', port }];
    };
    place.edge.setRoutes([
      { host: '*.shop.example', targets: await saying('any') },
      { host: 'a.shop.example', targets: await saying('one') },
    ]);
    const at = async (host: string) => (await place.ask({ headers: { host } })).body;
    assert.equal(await at('a.shop.example'), 'one');
    assert.equal(await at('b.shop.example:80'), 'any');
    for (const host of ['shop.example', 'a.b.shop.example', 'c.a.shop.example', '*.b.example']) {
      assert.doesNotMatch(await at(host), /^(any|one)$/, host);
    }
  });

  it('sends visitors of a host that redirects to the same path elsewhere', async () => {
    const targets = [{ host: '127.0.0.1', port: 1 }];
    place.edge.setRoutes([
      { host: 'shop.example', targets, redirectTo: 'www.shop.example' },
      { host: '*.shop.example', targets, redirectTo: 'shop.example' },
    ]);
    const ask = (host: string, path: string, method = 'GET') =>
      place.ask({ headers: { host }, path, method });
    const { status, headers } = await ask('shop.example:3080', '/a%20b//?c=d&e', 'POST');
    assert.equal(status, 308);
    assert.equal(headers.location, 'http://www.shop.example:3080/a%20b//?c=d&e');
    assert.equal(
      (await ask('x.shop.example', '//evil.example')).headers.location,
      'http://shop.example//evil.example',
    );
    assert.equal(
      (await ask('shop.example', '*', 'OPTIONS')).headers.location,
      'http://www.shop.example/',
    );
    const byProxy = { host: 'shop.example', 'x-forwarded-proto': 'https' };
    const atProxy = async () => (await place.ask({ headers: byProxy })).headers.location;
    assert.equal(await atProxy(), 'http://www.shop.example/');
    place.edge.trust(['127.0.0.1']);
    assert.equal(await atProxy(), 'https://www.shop.example/');
  });

  it('answers 503 with Retry-After for an app without targets', async () => {
    place.routeTo();
    const answer = await place.ask({});
    assert.equal(answer.status, 503);
    assert.ok(Number(answer.headers['retry-after']) > 0);
  });

  it('answers 502 with Retry-After for a target that refuses, and for one that hangs up', async () => {
    place.routeTo(await freePort());
    const refused = await place.ask({});
    assert.equal(refused.status, 502);
    assert.ok(Number(refused.headers['retry-after']) > 0);
    const { port: to } = await place.app((req) => req.socket.destroy());
    place.routeTo(to);
    assert.equal((await place.ask({})).status, 502);
    assert.equal((await place.ask({ method: 'POST' }, 'x')).status, 502);
  });

  it('tries another target when one refuses, also with a body', async () => {
    const { port: to } = await place.app((req, res) => req.pipe(res));
    place.routeTo(await freePort(), to);
    for (let i = 0; i < 6; i++) {
      assert.equal(
        (await place.ask({ method: 'POST' }, `body ${String(i)}`)).body,
        `body ${String(i)}`,
      );
    }
  });

  it('leaves a target alone for a while that takes connections and answers nothing', async () => {
    let broken = 0;
    let mends = false;
    const fickle = await place.app((req, res) => {
      if (mends) res.end('mended');
      else if (broken++ >= 0) req.socket.destroy();
    });
    const sound = await place.app((_, res) => res.end('sound'));
    place.routeTo(fickle.port, sound.port);
    const bodies = new Set<string>();
    for (let i = 0; i < 20; i++) bodies.add((await place.ask()).body);
    // Without this each second one, since it has the fewest under way.
    assert.ok(broken <= 2, String(broken));
    assert.ok(bodies.has('sound'));
    mends = true;
    await eventually('it is tried again', async () => (await place.ask()).body === 'mended');
  });

  it('takes so many heads of a client in a turn, however many come at once', async () => {
    const heads: number[] = [0];
    const count = (): void => {
      heads.push(0);
      counting = setImmediate(count);
    };
    let counting = setImmediate(count);
    // The page says it once for each head, in the same turn.
    const app = {
      id: 'app_1',
      get name(): string {
        heads.push((heads.pop() ?? 0) + 1);
        return 'counted';
      },
    };
    place.edge.setRoutes([{ host: 'a.localhost', targets: [], app }]);
    const sockets = Array.from({ length: 300 }, () => net.connect(place.port, '127.0.0.1'));
    try {
      await Promise.all(sockets.map((socket) => once(socket, 'connect')));
      // The second time the edge has taken all connections before.
      for (let time = 1; time <= 2; time++) {
        const answers = sockets.map((socket) => once(socket, 'data'));
        for (const socket of sockets) socket.write('GET / HTTP/1.1\r\nHost: a.localhost\r\n\r\n');
        await Promise.all(answers);
        const sum = heads.reduce((all, one) => all + one);
        assert.equal(sum, time * sockets.length);
      }
      assert.equal(Math.max(...heads), 64);
    } finally {
      clearImmediate(counting);
      for (const socket of sockets) socket.destroy();
    }
  });

  it('reads new connections of a client at a pace', async () => {
    const clock = new ManualClock();
    const near = { connections: 10, waiting: 10, pace: { atOnce: 1, everyMs: 10 } };
    const paced = await new EdgePlace({ clock, bounds: { near } }).open();
    try {
      const answered: number[] = [];
      const asked = [1, 2, 3].map(async (number) => {
        const text = 'GET / HTTP/1.1\r\nHost: none.localhost\r\nConnection: close\r\n\r\n';
        await paced.raw(text);
        answered.push(number);
      });
      await Promise.any(asked);
      for (let turn = 0; turn < 10; turn++) await settle();
      assert.equal(answered.length, 1);
      await clock.advance(12);
      await eventually('the next', () => answered.length === 2);
      await clock.advance(12);
      await Promise.all(asked);
    } finally {
      await paced.close();
    }
  });

  it('takes the targets in turn', async () => {
    const one = await place.app((_req, res) => res.end('1'));
    const two = await place.app((_req, res) => res.end('2'));
    place.routeTo(one.port, two.port);
    const bodies = [];
    for (let i = 0; i < 4; i++) bodies.push((await place.ask({})).body);
    assert.deepEqual(bodies.sort(), ['1', '1', '2', '2']);
  });

  it('never sends a request twice that an app began to work on', async () => {
    let seen = 0;
    const hangUp: RequestListener = (req) => {
      seen++;
      req.on('data', () => req.socket.destroy());
    };
    const one = await place.app(hangUp);
    const two = await place.app(hangUp);
    place.routeTo(one.port, two.port);
    assert.equal((await place.ask({ method: 'POST' }, 'pay')).status, 502);
    assert.equal(seen, 1);
  });

  it('tells the app who the client is, and not what the client says of itself', async () => {
    const { port: to } = await place.app((req, res) => res.end(JSON.stringify(req.headers)));
    place.routeTo(to);
    const headers = {
      'x-forwarded-for': '6.6.6.6',
      'x-forwarded-proto': 'https',
      'x-forwarded-host': 'evil',
      'x-real-ip': '6.6.6.6',
      'x-forwarded-prefix': '/evil',
      'x-forwarded-anything': 'evil',
      x_forwarded_for: '6.6.6.6',
      remote_user: 'root',
      forwarded: 'for=6.6.6.6',
      cookie: 'a=1',
      te: 'trailers',
      'x-hop': '1',
      connection: 'keep-alive, x-hop, cookie, x-forwarded-for',
    };
    const seen = JSON.parse((await place.ask({ headers })).body) as Record<string, string>;
    assert.equal(seen['x-forwarded-for'], '127.0.0.1');
    assert.equal(seen['x-forwarded-proto'], 'http');
    assert.equal(seen['x-forwarded-host'], 'a.localhost');
    assert.equal(seen['host'], 'a.localhost');
    assert.equal(seen['cookie'], 'a=1');
    const forwarded = Object.keys(seen).filter((name) => name.includes('forwarded'));
    assert.equal(seen['forwarded'], 'for=127.0.0.1;host="a.localhost";proto=http');
    assert.deepEqual(forwarded.sort(), [
      'forwarded',
      'x-forwarded-for',
      'x-forwarded-host',
      'x-forwarded-proto',
    ]);
    for (const name of ['x-real-ip', 'remote_user', 'te', 'x-hop'])
      assert.equal(seen[name], undefined);
  });

  it('brings cookies and connection-free headers of the app back', async () => {
    const { port: to } = await place.app((_req, res) => {
      res.writeHead(201, { 'set-cookie': ['a=1', 'b=2'], connection: 'close', 'x-own': 'yes' });
      res.end('made');
    });
    place.routeTo(to);
    const answer = await place.ask({});
    assert.deepEqual(answer.headers['set-cookie'], ['a=1', 'b=2']);
    assert.equal(answer.headers['x-own'], 'yes');
    assert.equal(answer.status, 201);
    assert.equal(answer.headers.connection, 'keep-alive');
  });

  it('refuses what apps and edge could read differently', async () => {
    const { port: to } = await place.app((_req, res) => res.end('reached'));
    place.routeTo(to);
    const heads = [
      'GET / HTTP/1.1\r\nHost: a.localhost\r\nHost: b.localhost',
      'GET / HTTP/1.1\r\nAccept: x',
      'GET http://b.localhost/ HTTP/1.1\r\nHost: a.localhost',
      'POST / HTTP/1.1\r\nHost: a.localhost\r\nContent-Length: 3\r\nContent-Length: 4',
      'POST / HTTP/1.1\r\nHost: a.localhost\r\nContent-Length: 3\r\nTransfer-Encoding: chunked',
      'POST / HTTP/1.1\r\nHost: a.localhost\r\nTransfer-Encoding: x, chunked, x',
      'GET / HTTP/1.1\r\nHost: a.localhost/../b',
      'GET http://me@a.localhost/ HTTP/1.1\r\nHost: a.localhost',
      'GET ftp://a.localhost/ HTTP/1.1\r\nHost: a.localhost',
      'CONNECT / HTTP/1.1\r\nHost: a.localhost',
      'CONNECT a.localhost:80 HTTP/1.1\r\nHost: a.localhost:80',
      'CONNECT http://a.localhost/ HTTP/1.1\r\nHost: a.localhost',
    ];
    for (const head of heads) {
      const answer = await place.raw(`${head}\r\nConnection: close\r\n\r\nabc`);
      assert.match(answer, /^HTTP\/1\.1 400 /, head);
    }
  });

  it('brings an app the path of a request in the absolute form, which names its host', async () => {
    const { port: to } = await place.app((req, res) => {
      res.end(`${req.headers.host ?? ''} ${req.url ?? ''}`);
    });
    place.routeTo(to);
    const at = async (path: string, host: string, method = 'GET') =>
      (await place.ask({ method, path, headers: { host } })).body;
    assert.equal(await at('http://a.localhost/x?y=/z', 'a.localhost'), 'a.localhost /x?y=/z');
    assert.equal(await at('HTTPS://A.localhost:80', 'a.LOCALHOST:80'), 'a.LOCALHOST:80 /');
    assert.equal(await at('http://a.localhost?y', 'a.localhost'), 'a.localhost /?y');
    assert.equal(await at('http://a.localhost//x', 'a.localhost'), 'a.localhost //x');
    assert.equal(await at('http://a.localhost', 'a.localhost', 'OPTIONS'), 'a.localhost *');
  });

  it('answers clients of HTTP/1.0 and those that close', async () => {
    const { port: to } = await place.app((_req, res) => {
      res.write('chunk');
      res.end('ed');
    });
    place.routeTo(to);
    const old = await place.raw('GET / HTTP/1.0\r\nHost: a.localhost\r\n\r\n');
    assert.match(old, /^HTTP\/1\.[01] 200 .*\r\n\r\nchunked$/s);
    const closing = await place.raw(
      'GET / HTTP/1.1\r\nHost: a.localhost\r\nConnection: close\r\n\r\n',
    );
    assert.match(closing, /^HTTP\/1\.1 200 /);
  });

  it('keeps the connection of HTTP/1.0 only where the end of the answer is told', async () => {
    const { port: to } = await place.app((req, res) => {
      if (req.url === '/told') res.setHeader('content-length', 2);
      res.write('o');
      res.end('k');
    });
    place.routeTo(to);
    const head = (path: string): string =>
      `GET ${path} HTTP/1.0\r\nHost: a.localhost\r\nConnection: keep-alive\r\n\r\n`;
    const answers = await place.raw(`${head('/told')}${head('/untold')}${head('/told')}`);
    assert.deepEqual(answers.match(/connection: .*/gi), [
      'connection: keep-alive',
      'connection: close',
    ]);
    assert.match(answers, /\r\n\r\nok$/);
  });

  it('tells an app how long a body is, also where there is none', async () => {
    const { port: to } = await place.app((req, res) => {
      const { 'content-length': length, 'transfer-encoding': coding, connection } = req.headers;
      res.end(JSON.stringify({ length, coding, connection }));
    });
    place.routeTo(to);
    const told = async (head: string, body = ''): Promise<unknown> => {
      const more = `Host: a.localhost\r\nConnection: close\r\n\r\n${body}`;
      const answer = await place.raw(`${head}\r\n${more}`);
      return JSON.parse(answer.slice(answer.indexOf('{'), answer.indexOf('}') + 1));
    };
    const connection = 'keep-alive';
    assert.deepEqual(await told('GET / HTTP/1.1'), { connection });
    assert.deepEqual(await told('POST / HTTP/1.1'), { length: '0', connection });
    const sized = 'PUT / HTTP/1.1\r\nContent-Length: 3';
    assert.deepEqual(await told(sized, 'abc'), { length: '3', connection });
    const chunked = 'PUT / HTTP/1.1\r\nTransfer-Encoding: Chunked';
    assert.deepEqual(await told(chunked, '1\r\na\r\n0\r\n\r\n'), {
      coding: 'chunked',
      connection: 'close',
    });
  });

  it('treats an upgrade to what is no WebSocket as a plain request', async () => {
    const { port: to } = await place.app((req, res) =>
      res.end(`plain ${String(req.headers.upgrade)}`),
    );
    place.routeTo(to);
    const answer = await place.raw(
      'GET / HTTP/1.1\r\nHost: a.localhost\r\nConnection: Upgrade, HTTP2-Settings, close\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABk\r\n\r\n',
    );
    assert.match(answer, /plain undefined/);
  });
});
