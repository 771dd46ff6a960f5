/** What passes through the edge besides plain requests and answers. */
import assert from 'node:assert/strict';
import net from 'node:net';
import type { Socket } from 'node:net';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, describe, it } from 'node:test';

import { EdgePlace } from '../../../support/edge-place.ts';
import { eventually } from '../../../support/eventually.ts';
import { ManualClock, settle } from '../../../support/manual-clock.ts';

const close = 'Connection: close\r\n\r\n';
const get = `GET / HTTP/1.1\r\nHost: a.localhost\r\n${close}`;

describe('Edge with messages of all kinds', () => {
  let place: EdgePlace;
  let clock: ManualClock;
  let servers: net.Server[];
  let sockets: Socket[];
  beforeEach(async () => {
    clock = new ManualClock();
    place = await new EdgePlace({ clock }).open();
    servers = [];
    sockets = [];
  });
  afterEach(async () => {
    await place.close();
    for (const socket of sockets) socket.destroy();
    for (const server of servers) server.close();
  });

  /** An app that is told all bytes of a connection so far each time some come. */
  async function app(take: (socket: Socket, text: string) => void): Promise<void> {
    const server = net.createServer((socket) => {
      sockets.push(socket);
      let text = '';
      socket.on('error', () => undefined);
      socket.on('data', (bytes) => take(socket, (text += bytes.toString('latin1'))));
    });
    servers.push(server);
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    place.routeTo((server.address() as AddressInfo).port);
  }

  function connect(): { socket: Socket; told: () => string } {
    const socket = net.connect(place.port, '127.0.0.1');
    sockets.push(socket);
    let text = '';
    socket.on('error', () => undefined);
    socket.on('data', (bytes) => (text += bytes.toString('latin1')));
    return { socket, told: () => text };
  }

  it('passes on interim answers and trailers', async () => {
    await app((socket) =>
      socket.end(
        'HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 200 OK\r\nTrailer: X-Sum\r\n' +
          'Transfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\nX-Sum: 1\r\nSet-Cookie: a=b\r\n\r\n',
      ),
    );
    const told = await place.raw(get);
    assert.match(told, /^HTTP\/1\.1 103 Early Hints\r\nLink: <\/a>\r\n\r\nHTTP\/1\.1 200 OK\r\n/);
    assert.match(told, /trailer: X-Sum\r\n/);
    assert.ok(told.endsWith('\r\n\r\n2\r\nhi\r\n0\r\nX-Sum: 1\r\n\r\n'), told);
    const old = await place.raw('GET / HTTP/1.0\r\nHost: a.localhost\r\n\r\n');
    assert.match(old, /^HTTP\/1\.1 200 OK\r\n/);
    assert.ok(old.endsWith('\r\n\r\nhi'), old);
  });

  it('brings an app the trailers of a request', async () => {
    let seen = '';
    await app((socket, text) => {
      seen = text;
      if (text.endsWith('0\r\nX-Sum: 1\r\n\r\n')) socket.end('HTTP/1.1 204 No Content\r\n\r\n');
    });
    const head = `POST / HTTP/1.1\r\nHost: a.localhost\r\nTransfer-Encoding: chunked\r\n${close}`;
    const told = await place.raw(`${head}3;ext=1\r\nabc\r\n0\r\nX-Sum: 1\r\nHost: b\r\n\r\n`);
    assert.match(told, /^HTTP\/1\.1 204 /);
    assert.ok(seen.endsWith('\r\n\r\n3\r\nabc\r\n0\r\nX-Sum: 1\r\n\r\n'), seen);
  });

  it('keeps lines apart where a list of Connection has empty members', async () => {
    let [seen, list] = ['', ''];
    await app((socket, text) => {
      seen = text;
      const lines = `Connection:${list}\r\nX-Own: 1\r\nX-Last: 2\r\n`;
      const last = `HTTP/1.1 200 OK\r\nContent-Length: 2\r\n${lines}\r\nhi`;
      socket.end(`HTTP/1.1 103 Early Hints\r\n${lines}\r\n${last}`);
    });
    for (list of ['', ' ,', ' close,', ' , x-own ,,']) {
      const lines = `Host: a.localhost\r\nConnection:${list}\r\nX-Own: 1\r\nX-Last: 2\r\n`;
      const { socket, told } = connect();
      socket.write(`GET / HTTP/1.1\r\n${lines}\r\n`);
      await eventually('an answer', () => told().endsWith('hi'));
      const own = list.includes('x-own') ? '' : 'X-Own: 1\r\n';
      assert.ok(seen.includes(`\r\n${own}X-Last: 2\r\nx-request-id: `), seen);
      const [interim, head = ''] = told().split('\r\n\r\n');
      assert.equal(interim, `HTTP/1.1 103 Early Hints\r\n${own}X-Last: 2`);
      assert.ok(head.startsWith(`HTTP/1.1 200 OK\r\n${own}X-Last: 2\r\nx-request-id: `), head);
    }
  });

  it('has a visitor go on when the app says so, and when it says nothing', async () => {
    let says = true;
    await app((socket, text) => {
      if (says && text.endsWith('\r\n\r\n')) socket.write('HTTP/1.1 100 Continue\r\n\r\n');
      if (!text.endsWith('body')) return;
      assert.match(text, /expect: 100-continue/);
      socket.end('HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n');
    });
    for (says of [true, false]) {
      const { socket, told } = connect();
      const head = 'POST / HTTP/1.1\r\nHost: a.localhost\r\nContent-Length: 4\r\n';
      socket.write(`${head}Expect: 100-continue\r\n${close}`);
      await eventually('100', async () => {
        if (!says) await clock.advance(1000);
        return told() === 'HTTP/1.1 100 Continue\r\n\r\n';
      });
      socket.write('body');
      await eventually('200', () => told().includes('HTTP/1.1 200 OK'));
    }
  });

  it('closes the connection where the body that it was asked for is refused', async () => {
    await app((socket) => socket.write('HTTP/1.1 401 No\r\nContent-Length: 0\r\n\r\n'));
    const head = 'POST / HTTP/1.1\r\nHost: a.localhost\r\nContent-Length: 4\r\n';
    const told = await place.raw(`${head}Expect: 100-continue\r\n\r\n`);
    assert.match(told, /^HTTP\/1\.1 401 No\r\n.*connection: close/s);
  });

  it('answers requests that come at once in their order, one after the other', async () => {
    let underWay = 0;
    const { port } = await place.app((req, res) => {
      assert.equal(++underWay, 1);
      setImmediate(() => {
        underWay--;
        res.end(req.url);
      });
    });
    place.routeTo(port);
    const heads = Array.from(
      { length: 40 },
      (_each, at) => `GET /${String(at)} HTTP/1.1\r\nHost: a.localhost\r\n\r\n`,
    );
    const told = await place.raw(`${heads.join('')}${get}`);
    const order = [...told.matchAll(/\r\n\r\n\/(\d+)/g)].map(([, number]) => Number(number));
    assert.deepEqual(order, [...heads.keys()]);
  });

  describe('with a visitor who sends requests ahead and takes no answers', () => {
    const [asked, bytes] = [1500, 15_000];
    const last = `\r\n\r\n${`/${String(asked - 1)}`.padEnd(bytes)}`;
    let answered: number;
    let visitor: ReturnType<typeof connect>;
    beforeEach(async () => {
      answered = 0;
      const { port } = await place.app((req, res) => {
        answered++;
        res.end(String(req.url).padEnd(bytes));
      });
      place.routeTo(port);
      visitor = connect();
      visitor.socket.pause();
      for (let at = 0; at < asked; at++)
        visitor.socket.write(`GET /${String(at)} HTTP/1.1\r\nHost: a.localhost\r\n\r\n`);
      // Nothing for a while: what the kernel's buffers take is taken by then.
      for (
        let still = 0, seen = 0;
        still < 20;
        still = seen > 0 && seen === answered ? still + 1 : 0
      ) {
        seen = answered;
        await new Promise((resolve) => setTimeout(resolve, 10));
      }
    });

    it('begins no more of them until he does', async () => {
      assert.ok(answered < asked);
      await clock.advance(500_000);
      visitor.socket.resume();
      await eventually('the last answer', () => visitor.told().endsWith(last));
      const order = [...visitor.told().matchAll(/\r\n\r\n\/(\d+) /g)].map(([, at]) => Number(at));
      assert.equal(order.join(), [...Array(asked).keys()].join());
    });

    it('closes his connection after ten minutes', async () => {
      await clock.advance(601_000);
      visitor.socket.resume();
      await eventually('it is closed', () => visitor.socket.closed);
      assert.ok(visitor.told().length < asked * bytes);
    });

    it('sends him what is answered when he sends no more', async () => {
      await new Promise<void>((resolve) => visitor.socket.end(resolve));
      await settle();
      visitor.socket.resume();
      await eventually('it is closed', () => visitor.socket.closed);
      const told = visitor.told();
      assert.equal(told.length - told.lastIndexOf('\r\n\r\n') - 4, bytes);
      assert.equal([...told.matchAll(/HTTP\/1\.1 200 /g)].length, answered);
    });
  });

  it('ends the exchange with the app when a visitor leaves that has sent requests ahead', async () => {
    const app = { came: false, left: false };
    const { port } = await place.app((_req, res) => {
      app.came = true;
      res.on('close', () => (app.left = true));
    });
    place.routeTo(port);
    const { socket } = connect();
    socket.write('GET / HTTP/1.1\r\nHost: a.localhost\r\n\r\n'.repeat(20));
    await eventually('the first is under way', () => app.came);
    socket.destroy();
    await eventually('its end', () => app.left);
  });

  it('dates what it answers itself, and what an app does not date', async () => {
    let line = '';
    await app((socket) => socket.end(`HTTP/1.1 200 OK\r\n${line}Content-Length: 0\r\n\r\n`));
    const datesOf = async (text: string): Promise<string[]> =>
      [...(await place.raw(text)).matchAll(/^date: (.*)\r$/gim)].map(([, date = '']) => date);
    const asked = [
      get,
      get.replace('a.local', 'nobody.local'),
      get.replace(' / ', ' elsewhere '),
      'no request\r\n\r\n',
    ];
    for (let second = 0; second < 3; second++) {
      const now = new Date(clock.now()).toUTCString();
      for (const text of asked) assert.deepEqual(await datesOf(text), [now], text);
      await clock.advance(1000);
    }
    const own = 'Sun, 06 Nov 1994 08:49:37 GMT';
    for (const name of ['Date', 'date', 'DATE']) {
      line = `${name}: ${own}\r\n`;
      assert.deepEqual(await datesOf(get), [own]);
    }
  });

  it('closes the connection where what comes behind an early answer can be no body', async () => {
    await app((socket) => socket.write('HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n'));
    for (const [host, status] of [
      ['nobody.localhost', '404'],
      ['a.localhost', '200'],
    ] as const) {
      const { socket, told } = connect();
      socket.write(`POST / HTTP/1.1\r\nHost: ${host}\r\nTransfer-Encoding: chunked\r\n\r\n`);
      await eventually('an answer', () => told().startsWith(`HTTP/1.1 ${status} `));
      assert.match(told(), /connection: keep-alive/);
      socket.write(`zz\r\n${get}`);
      await eventually('it is closed', () => socket.closed, 5000);
    }
  });

  it('refuses a head of 64 kB, and one that does not come', async () => {
    await app(() => undefined);
    const head = 'GET / HTTP/1.1\r\nHost: a.localhost\r\n';
    assert.match(await place.raw(`${head}X: ${'y'.repeat(64_000)}\r\n\r\n`), /^HTTP\/1\.1 431 /);
    const { socket, told } = connect();
    socket.write(head);
    await eventually('408', async () => {
      await clock.advance(1000);
      return told().startsWith('HTTP/1.1 408 ');
    });
  });

  it('closes kept connections that ask nothing, and those on which nothing moves', async () => {
    await app((socket) => socket.write('HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n'));
    const kept = connect();
    kept.socket.write('GET / HTTP/1.1\r\nHost: a.localhost\r\n\r\n');
    await eventually('an answer', () => kept.told() !== '');
    await clock.advance(70_000);
    assert.equal(kept.socket.closed, false);
    await clock.advance(10_000);
    await eventually('it is closed', () => kept.socket.closed);
    await app(() => undefined);
    const silent = connect();
    silent.socket.write('GET / HTTP/1.1\r\nHost: a.localhost\r\n\r\n');
    await eventually('it came to the app', () => (sockets.at(-1)?.bytesRead ?? 0) > 0);
    await clock.advance(500_000);
    assert.equal(silent.told(), '');
    await clock.advance(101_000);
    await eventually('an end', () => silent.told() !== '' || silent.socket.closed);
  });

  it('believes what a trusted proxy says of the visitor', async () => {
    const { port } = await place.app((req, res) => res.end(JSON.stringify(req.headers)));
    place.routeTo(port);
    const said = {
      'x-forwarded-for': '6.6.6.6, 192.0.2.7, 127.0.0.9',
      'x-forwarded-proto': 'https',
      'x-forwarded-host': 'shop.test',
    };
    const seen = async (): Promise<unknown[]> => {
      const headers = JSON.parse((await place.ask({ headers: said })).body) as typeof said;
      return Object.keys(said).map((name) => headers[name as keyof typeof said]);
    };
    assert.deepEqual(await seen(), ['127.0.0.1', 'http', 'a.localhost']);
    place.edge.trust(['127.0.0.0/8']);
    assert.deepEqual(await seen(), ['192.0.2.7', 'https', 'shop.test']);
  });
});
