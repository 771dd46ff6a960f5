/** Messages in the smallest pieces that a connection carries, and connections that end on one side alone. */
import assert from 'node:assert/strict';
import net from 'node:net';
import type { AddressInfo, Socket } from 'node:net';
import { afterEach, beforeEach, describe, it } from 'node:test';

import { EdgePlace } from '../support/edge-place.ts';
import { eventually } from '../support/eventually.ts';
import { RawClient } from '../support/raw-http.ts';

const head = 'POST /drawn HTTP/1.1\r\nHost: a.localhost\r\n';

/** Each byte in a packet of its own: the next goes when the system has taken the last. */
async function drawnOut(socket: Socket, text: string): Promise<void> {
  socket.setNoDelay(true);
  for (const byte of Buffer.from(text, 'latin1')) {
    if (!socket.writable) return;
    await new Promise<void>((resolve) => socket.write(Buffer.of(byte), () => resolve()));
    // The edge is in this process: what has come is read before more is sent.
    await new Promise(setImmediate);
  }
}

describe('an edge that gets messages byte by byte', () => {
  let place: EdgePlace;
  let open: Set<Socket>;
  let servers: net.Server[];
  beforeEach(async () => {
    place = await new EdgePlace().open();
    open = new Set();
    servers = [];
  });
  afterEach(async () => {
    for (const socket of open) socket.destroy();
    await place.close();
    for (const server of servers) server.close();
  });

  const visitor = (): RawClient => {
    const client = new RawClient(place.port);
    open.add(client.socket);
    client.socket.setNoDelay(true);
    return client;
  };
  /** Sends `a.localhost` to what takes connections so. */
  async function listen(take: (socket: Socket) => void): Promise<void> {
    const server = net.createServer({ allowHalfOpen: true, noDelay: true }, (socket) => {
      open.add(socket);
      socket.on('error', () => undefined);
      take(socket);
    });
    servers.push(server);
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    place.routeTo((server.address() as AddressInfo).port);
  }

  it('reads a head, chunks and trailers, and drops what trailers may not say', async () => {
    const { port } = await place.app((req, res) => {
      let body = '';
      req.setEncoding('latin1').on('data', (more: string) => (body += more));
      req.on('end', () => res.end(JSON.stringify([req.method, req.url, body, req.trailers])));
    });
    place.routeTo(port);
    const client = visitor();
    const trailers = 'X-Sum: 1\r\nX-Forwarded-For: 1.2.3.4\r\nContent-Length: 9\r\nCookie: a=b\r\n';
    await drawnOut(
      client.socket,
      `${head}Transfer-Encoding: chunked\r\n\r\n3;a=b\r\nabc\r\n0b\r\n${'d'.repeat(11)}\r\n0\r\n${trailers}\r\n`,
    );
    await client.until(() => client.received.includes('}]'));
    const seen = ['POST', '/drawn', `abc${'d'.repeat(11)}`, { 'x-sum': '1' }];
    assert.ok(client.received.includes(JSON.stringify(seen)), client.received);
  });

  it('refuses what cannot become a head at the byte that shows it', async () => {
    await listen(() => assert.fail('nothing comes'));
    for (const text of ['GET / HTTP/1.1\n', 'GET / HTTP/2.0\r\n', 'GET / HTTP/1.1\r\nHost: a\n']) {
      const client = visitor();
      await drawnOut(client.socket, text);
      await client.until(() => client.ended !== undefined);
      assert.match(client.received, /^HTTP\/1\.1 400 /, text);
    }
  });

  it('serves a thousand visitors whose chunk sizes come in halves', async () => {
    const { port } = await place.app((req, res) => {
      let body = '';
      req.setEncoding('latin1').on('data', (more: string) => (body += more));
      req.on('end', () => res.end(`${String(req.headers['x-n'])} ${String(body.length)}!`));
    });
    place.routeTo(port);
    const clients = Array.from({ length: 1000 }, () => visitor());
    const pieces = [
      'Transfer-Encoding: chunked\r\n\r\n1',
      '0\r',
      `\n${'x'.repeat(16)}\r\n2`,
      '\r\nyy\r\n0\r\n',
      '\r\n',
    ];
    clients.forEach((client, n) => client.write(`${head}X-N: ${String(n)}\r\n`));
    for (const piece of pieces) {
      const sent = clients.map(
        ({ socket }) => new Promise<void>((resolve) => void socket.write(piece, () => resolve())),
      );
      await Promise.all(sent);
      await new Promise(setImmediate);
    }
    await Promise.all(
      clients.map((client) =>
        client.until(() => client.received.endsWith('!') || client.ended !== undefined),
      ),
    );
    clients.forEach(({ received }, n) => {
      assert.ok(received.endsWith(`\r\n\r\n${String(n)} 18!`), received);
    });
  });

  it('passes on an answer that comes byte by byte, with a length, in chunks and to the end', async () => {
    const trailers = 'X-Sum: 1\r\nSet-Cookie: a=b\r\nContent-Length: 7\r\n';
    const answers = [
      'HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhullo',
      `HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: X-Sum\r\n\r\n5\r\nhullo\r\n0\r\n${trailers}\r\n`,
      'HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nConnection: close\r\n\r\nhullo',
    ];
    for (const answer of answers) {
      await listen((socket) => {
        socket.once('data', () => void drawnOut(socket, answer).then(() => socket.end()));
      });
      const told = await place.raw(
        'GET / HTTP/1.1\r\nHost: a.localhost\r\nConnection: close\r\n\r\n',
      );
      const body = told.replace(/^.*?\r\n\r\n/s, '');
      const text = body.replace('X-Sum: 1', '').replace(/[0-9a-f]+\r\n|\r\n/g, '');
      assert.equal(text, 'hullo', told);
      assert.doesNotMatch(told, /set-cookie|content-length: 7/i);
      assert.equal(told.endsWith('X-Sum: 1\r\n\r\n'), answer.includes('X-Sum'));
    }
  });

  it('lets the app go of a visitor who ends its side', async () => {
    const app = { received: '', isGone: false };
    await listen((socket) => {
      socket.on('data', (bytes: Buffer) => (app.received += bytes.toString('latin1')));
      socket.once('end', () => (app.isGone = true));
    });
    const client = visitor();
    client.write(`${head}Content-Length: 10\r\n\r\nhalf`);
    await eventually('the request at the app', () => app.received.endsWith('half'));
    client.socket.end();
    await eventually('the end at the app', () => app.isGone);
    await client.until(() => client.ended !== undefined);
    assert.equal(client.received, '');
  });

  it('passes on an answer of an app that ends its side behind it, and reads the rest of the body', async () => {
    await listen((socket) => {
      socket.once('data', () => socket.end('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi'));
    });
    const client = visitor();
    client.write(`${head}Content-Length: 200000\r\n\r\n${'x'.repeat(100_000)}`);
    await client.until(() => client.received.endsWith('hi'));
    client.write(`${'x'.repeat(100_000)}GET / HTTP/1.1\r\nHost: a.localhost\r\n\r\n`);
    await client.until(() => client.received.split('HTTP/1.1 200 ').length === 3);
  });

  it('breaks off where the app ends its side within an answer, and says 502 before one', async () => {
    for (const [answer, told] of [
      ['', /^HTTP\/1\.1 502 /],
      ['HTTP/1.1 20', /^HTTP\/1\.1 502 /],
      ['HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhel', /^$|hel$/],
      ['HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhel', /^$|hel\r\n$/],
    ] as const) {
      await listen((socket) => socket.once('data', () => socket.end(answer)));
      const client = visitor();
      client.write(`${head}Content-Length: 0\r\nConnection: close\r\n\r\n`);
      await client.until(() => client.ended !== undefined);
      assert.match(client.received, told);
    }
  });

  it('carries on a WebSocket to the end of each side', async () => {
    const upgrade = 'Connection: Upgrade\r\nUpgrade: websocket\r\n\r\n';
    let received = '';
    await listen((socket) => {
      socket.once('data', () => {
        socket.write(`HTTP/1.1 101 Switching Protocols\r\n${upgrade}`);
        socket.on('data', (bytes: Buffer) => (received += bytes.toString('latin1')));
        // The visitor has ended its side: there is an answer still.
        socket.once('end', () => void drawnOut(socket, `got ${received}`).then(() => socket.end()));
      });
    });
    const client = visitor();
    client.write(`GET / HTTP/1.1\r\nHost: a.localhost\r\n${upgrade}`);
    await client.until(() => client.received.includes('\r\n\r\n'));
    await drawnOut(client.socket, 'all of it');
    client.socket.end();
    await client.until(() => client.ended !== undefined);
    assert.equal(client.ended, 'fin');
    assert.ok(client.received.endsWith('\r\n\r\ngot all of it'), client.received);
  });
});
