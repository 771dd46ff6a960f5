import assert from 'node:assert/strict';
import fs from 'node:fs';
import http from 'node:http';
import net from 'node:net';
import type { AddressInfo } from 'node:net';
import { after, afterEach, before, beforeEach, describe, it } from 'node:test';
import { WebSocketServer, WebSocket } from 'ws';

import { Edge } from '../../../../src/agent/edge/edge.ts';
import { systemClock } from '../../../../src/lib/clock.ts';
import { noLog, tempDir } from '../../../support/runner.ts';

interface Answer {
  status: number;
  headers: http.IncomingHttpHeaders;
  body: string;
}

interface App {
  port: number;
  server: http.Server;
}

async function appOf(handler: http.RequestListener): Promise<App> {
  const server = http.createServer(handler);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return { server, port: (server.address() as AddressInfo).port };
}

async function portOf(): Promise<number> {
  const { server, port } = await appOf(() => undefined);
  await closeServer(server);
  return port;
}

function closeServer(server: http.Server): Promise<void> {
  server.closeAllConnections();
  return new Promise((resolve) => {
    server.close(() => {
      resolve();
    });
  });
}

describe('Edge', () => {
  let dir: string;
  let edge: Edge;
  let port: number;
  const apps: App[] = [];
  const agent = new http.Agent({ keepAlive: true });

  before(() => {
    dir = tempDir();
  });
  after(() => {
    agent.destroy();
    fs.rmSync(dir, { recursive: true });
  });
  beforeEach(async () => {
    edge = new Edge({ dir, clock: systemClock, logger: noLog });
    port = await portOf();
    await edge.configure({ host: '127.0.0.1', port });
  });
  afterEach(async () => {
    edge.close();
    for (const { server } of apps.splice(0)) await closeServer(server);
  });

  async function app(handler: http.RequestListener): Promise<App> {
    const made = await appOf(handler);
    apps.push(made);
    return made;
  }

  const routeTo = (...ports: number[]): Promise<void> =>
    edge.setRoutes([
      { host: 'a.localhost', targets: ports.map((each) => ({ host: '127.0.0.1', port: each })) },
    ]);

  function ask(options: http.RequestOptions, body?: Buffer | string): Promise<Answer> {
    return new Promise((resolve, reject) => {
      const headers = { host: 'a.localhost', ...(options.headers as http.OutgoingHttpHeaders) };
      const req = http.request({ host: '127.0.0.1', port, agent, ...options, headers }, (res) => {
        const chunks: Buffer[] = [];
        res.on('data', (chunk: Buffer) => chunks.push(chunk));
        res.on('end', () => {
          const text = Buffer.concat(chunks).toString();
          resolve({ status: res.statusCode ?? 0, headers: res.headers, body: text });
        });
        res.on('error', reject);
      });
      req.on('error', reject);
      req.end(body);
    });
  }

  /** Sends bytes as they are and returns all that comes back. */
  function raw(bytes: string): Promise<string> {
    return new Promise((resolve, reject) => {
      const socket = net.connect(port, '127.0.0.1', () => socket.write(bytes));
      let text = '';
      socket.on('data', (chunk) => (text += chunk.toString('latin1')));
      socket.on('error', reject);
      socket.on('close', () => {
        resolve(text);
      });
    });
  }

  it('brings a request to the app of its host, whatever the port and case', async () => {
    const { port: to } = await app((req, res) => res.end(`${req.method ?? ''} ${req.url ?? ''}`));
    await routeTo(to);
    const answer = await ask({
      path: '/x//y?z=1',
      headers: { host: `A.LocalHost:${String(port)}` },
    });
    assert.deepEqual([answer.status, answer.body], [200, 'GET /x//y?z=1']);
  });

  it('answers 404 for a host that is no app, without repeating it', async () => {
    const answer = await ask({ headers: { host: 'nobody.localhost' } });
    assert.equal(answer.status, 404);
    assert.match(answer.body, /no app/);
    assert.doesNotMatch(answer.body, /nobody/);
  });

  it('answers 503 with Retry-After for an app without targets', async () => {
    await routeTo();
    const answer = await ask({});
    assert.equal(answer.status, 503);
    assert.ok(Number(answer.headers['retry-after']) > 0);
  });

  it('answers 502 with Retry-After for a target that refuses, and for one that hangs up', async () => {
    await routeTo(await portOf());
    const refused = await ask({});
    assert.equal(refused.status, 502);
    assert.ok(Number(refused.headers['retry-after']) > 0);
    const { port: to } = await app((req) => req.socket.destroy());
    await routeTo(to);
    assert.equal((await ask({})).status, 502);
    assert.equal((await ask({ method: 'POST' }, 'x')).status, 502);
  });

  it('tries another target when one refuses, also with a body', async () => {
    const { port: to } = await app((req, res) => req.pipe(res));
    await routeTo(await portOf(), to);
    for (let i = 0; i < 6; i++) {
      assert.equal((await ask({ method: 'POST' }, `body ${String(i)}`)).body, `body ${String(i)}`);
    }
  });

  it('takes the targets in turn', async () => {
    const one = await app((_req, res) => res.end('1'));
    const two = await app((_req, res) => res.end('2'));
    await routeTo(one.port, two.port);
    const bodies = [];
    for (let i = 0; i < 4; i++) bodies.push((await ask({})).body);
    assert.deepEqual(bodies.sort(), ['1', '1', '2', '2']);
  });

  it('never sends a request twice that an app began to work on', async () => {
    let seen = 0;
    const hangUp: http.RequestListener = (req) => {
      seen++;
      req.on('data', () => req.socket.destroy());
    };
    const one = await app(hangUp);
    const two = await app(hangUp);
    await routeTo(one.port, two.port);
    assert.equal((await ask({ method: 'POST' }, 'pay')).status, 502);
    assert.equal(seen, 1);
  });

  it('tells the app who the client is, and not what the client says of itself', async () => {
    const { port: to } = await app((req, res) => res.end(JSON.stringify(req.headers)));
    await routeTo(to);
    const headers = {
      'x-forwarded-for': '6.6.6.6',
      'x-forwarded-proto': 'https',
      'x-forwarded-host': 'evil',
      'x-real-ip': '6.6.6.6',
      forwarded: 'for=6.6.6.6',
      cookie: 'a=1',
      te: 'trailers',
      'x-hop': '1',
      connection: 'keep-alive, x-hop, cookie, x-forwarded-for',
    };
    const seen = JSON.parse((await ask({ headers })).body) as Record<string, string>;
    assert.equal(seen['x-forwarded-for'], '127.0.0.1');
    assert.equal(seen['x-forwarded-proto'], 'http');
    assert.equal(seen['x-forwarded-host'], 'a.localhost');
    assert.equal(seen['host'], 'a.localhost');
    assert.equal(seen['cookie'], 'a=1');
    for (const name of ['x-real-ip', 'forwarded', 'te', 'x-hop'])
      assert.equal(seen[name], undefined);
  });

  it('brings cookies and connection-free headers of the app back', async () => {
    const { port: to } = await app((_req, res) => {
      res.writeHead(201, { 'set-cookie': ['a=1', 'b=2'], connection: 'close', 'x-own': 'yes' });
      res.end('made');
    });
    await routeTo(to);
    const answer = await ask({});
    assert.deepEqual(answer.headers['set-cookie'], ['a=1', 'b=2']);
    assert.equal(answer.headers['x-own'], 'yes');
    assert.equal(answer.status, 201);
    assert.equal(answer.headers.connection, 'keep-alive');
  });

  it('refuses what apps and edge could read differently', async () => {
    const { port: to } = await app((_req, res) => res.end('reached'));
    await routeTo(to);
    const heads = [
      'GET / HTTP/1.1\r\nHost: a.localhost\r\nHost: b.localhost',
      'GET / HTTP/1.1\r\nAccept: x',
      'GET http://b.localhost/ HTTP/1.1\r\nHost: a.localhost',
      'POST / HTTP/1.1\r\nHost: a.localhost\r\nContent-Length: 3\r\nContent-Length: 4',
      'POST / HTTP/1.1\r\nHost: a.localhost\r\nContent-Length: 3\r\nTransfer-Encoding: chunked',
      'POST / HTTP/1.1\r\nHost: a.localhost\r\nTransfer-Encoding: x, chunked, x',
      'GET / HTTP/1.1\r\nHost: a.localhost/../b',
    ];
    for (const head of heads) {
      const answer = await raw(`${head}\r\nConnection: close\r\n\r\nabc`);
      assert.match(answer, /^HTTP\/1\.1 400 /, head);
    }
  });

  it('answers clients of HTTP/1.0 and those that close', async () => {
    const { port: to } = await app((_req, res) => {
      res.write('chunk');
      res.end('ed');
    });
    await routeTo(to);
    const old = await raw('GET / HTTP/1.0\r\nHost: a.localhost\r\n\r\n');
    assert.match(old, /^HTTP\/1\.[01] 200 .*\r\n\r\nchunked$/s);
    const closing = await raw('GET / HTTP/1.1\r\nHost: a.localhost\r\nConnection: close\r\n\r\n');
    assert.match(closing, /^HTTP\/1\.1 200 /);
  });

  it('treats an upgrade to what is no WebSocket as a plain request', async () => {
    const { port: to } = await app((req, res) => res.end(`plain ${String(req.headers.upgrade)}`));
    await routeTo(to);
    const answer = await raw(
      'GET / HTTP/1.1\r\nHost: a.localhost\r\nConnection: Upgrade, HTTP2-Settings, close\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABk\r\n\r\n',
    );
    assert.match(answer, /plain undefined/);
  });

  it('streams a large body both ways', async () => {
    const size = 64 * 1024 * 1024;
    const { port: to } = await app((req, res) => req.pipe(res));
    await routeTo(to);
    const received = await new Promise<number>((resolve, reject) => {
      let bytes = 0;
      let sent = 0;
      const headers = { host: 'a.localhost', 'content-length': size };
      const req = http.request({ host: '127.0.0.1', port, method: 'PUT', headers }, (res) => {
        res.on('data', (chunk: Buffer) => (bytes += chunk.length));
        res.on('end', () => {
          resolve(bytes);
        });
      });
      req.on('error', reject);
      const chunk = Buffer.alloc(64 * 1024);
      const send = (): void => {
        for (;;) {
          if (sent === size) return void req.end();
          sent += chunk.length;
          if (!req.write(chunk)) return void req.once('drain', send);
        }
      };
      send();
    });
    assert.equal(received, size);
  });

  it('takes no more from an app than its client reads', async () => {
    const chunk = Buffer.alloc(64 * 1024);
    let written = 0;
    let isFull = false;
    const { port: to } = await app((_req, res) => {
      const write = (): void => {
        isFull = false;
        do written += chunk.length;
        while (res.write(chunk));
        isFull = true;
        res.once('drain', write);
      };
      write();
    });
    await routeTo(to);
    const socket = net.connect(port, '127.0.0.1', () => {
      socket.write('GET / HTTP/1.1\r\nHost: a.localhost\r\n\r\n');
    });
    socket.pause();
    // Full for a while: what the kernel's buffers take is taken by then.
    for (let still = 0, seen = -1; still < 20; still = isFull && seen === written ? still + 1 : 0) {
      seen = written;
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
    assert.ok(written < 64 * 1024 * 1024, `${String(written)} bytes`);
    socket.destroy();
  });

  it('closes the connection when an app breaks off in the middle of an answer', async () => {
    const { port: to } = await app((_req, res) => {
      res.writeHead(200, { 'content-length': '100' });
      res.write('half', () => res.socket?.destroy());
    });
    await routeTo(to);
    await assert.rejects(ask({}), { code: 'ECONNRESET' });
  });

  it('ends the exchange with the app when the client leaves', async () => {
    let left = false;
    const { port: to } = await app((req, res) => {
      res.on('close', () => (left = true));
      res.write('first');
      req.resume();
    });
    await routeTo(to);
    const headers = { host: 'a.localhost' };
    const req = http.get({ host: '127.0.0.1', port, headers, agent: false }, (res) => {
      res.once('data', () => req.destroy());
      res.on('error', () => undefined);
    });
    req.on('error', () => undefined);
    while (!left) await new Promise((resolve) => setTimeout(resolve, 5));
  });

  it('switches under load without one failed request, on connections kept alive', async () => {
    const slow =
      (name: string): http.RequestListener =>
      (req, res) => {
        req.resume();
        setTimeout(() => res.end(name), 5);
      };
    const blue = await app(slow('blue'));
    const green = await app(slow('green'));
    await routeTo(blue.port);
    const seen = new Map<string, number>();
    let stop = false;
    const load = Array.from({ length: 20 }, async (_each, i) => {
      while (!stop) {
        const answer = i % 2 ? await ask({}) : await ask({ method: 'POST' }, 'body');
        assert.equal(answer.status, 200);
        seen.set(answer.body, (seen.get(answer.body) ?? 0) + 1);
      }
    });
    const reach = async (name: string, count: number): Promise<void> => {
      while ((seen.get(name) ?? 0) < count) await new Promise((resolve) => setTimeout(resolve, 5));
    };
    await reach('blue', 100);
    await routeTo(green.port);
    const answer = await ask({});
    assert.equal(answer.body, 'green');
    await reach('green', 100);
    // The old one ends as apps do: takes nothing new, finishes what it has.
    await closeServer(blue.server);
    await reach('green', 300);
    stop = true;
    await Promise.all(load);
  });

  it('survives apps that close kept connections at any moment', async () => {
    const { port: to, server } = await app((_req, res) => res.end('ok'));
    server.keepAliveTimeout = 1;
    await routeTo(to);
    for (let i = 0; i < 300; i++) {
      assert.equal((await ask({})).status, 200);
      if (i % 10 === 0) await new Promise((resolve) => setTimeout(resolve, 1));
    }
  });

  describe('with WebSockets', () => {
    const connect = (): WebSocket =>
      new WebSocket(`ws://127.0.0.1:${String(port)}/chat`, { headers: { host: 'a.localhost' } });
    const once = (socket: WebSocket, event: string): Promise<unknown> =>
      new Promise((resolve, reject) => {
        socket.once(event, resolve);
        if (event !== 'error') socket.once('error', reject);
      });

    async function echo(): Promise<App & { sockets: WebSocketServer }> {
      const made = await app((_req, res) => res.end('plain'));
      const sockets = new WebSocketServer({ server: made.server });
      sockets.on('connection', (socket, req) => {
        socket.send(String(req.headers['x-forwarded-for']));
        socket.on('message', (data) => {
          socket.send(data);
        });
      });
      return { ...made, sockets };
    }

    it('carries messages both ways and closes both ends', async () => {
      const { port: to, sockets } = await echo();
      await routeTo(await portOf(), to);
      const socket = connect();
      assert.equal(String(await once(socket, 'message')), '127.0.0.1');
      const large = Buffer.alloc(2_000_000, 7);
      socket.send(large);
      assert.deepEqual(await once(socket, 'message'), large);
      socket.close();
      await once(socket, 'close');
      while (sockets.clients.size > 0) await new Promise((resolve) => setTimeout(resolve, 5));
    });

    it('leaves open ones where they are when the route changes', async () => {
      const { port: to } = await echo();
      await routeTo(to);
      const socket = connect();
      await once(socket, 'message');
      await routeTo();
      socket.send('still');
      assert.equal(String(await once(socket, 'message')), 'still');
      socket.terminate();
    });

    it('answers with a status when there is no app, or it does not take it', async () => {
      const refusal = (): Promise<number> =>
        new Promise((resolve) => {
          const socket = connect();
          socket.on('error', () => undefined);
          socket.once('unexpected-response', (_req, res) => {
            resolve(res.statusCode ?? 0);
            res.destroy();
          });
        });
      await edge.setRoutes([]);
      assert.equal(await refusal(), 404);
      await routeTo();
      assert.equal(await refusal(), 503);
      await routeTo(await portOf());
      assert.equal(await refusal(), 502);
      const { port: to, server } = await app(() => undefined);
      server.on('upgrade', (_req, socket) => socket.end('HTTP/1.1 403 Forbidden\r\n\r\n'));
      await routeTo(to);
      assert.equal(await refusal(), 403);
    });
  });

  describe('configure()', () => {
    it('refuses a port in use, and serves it when it is free', async () => {
      const holder = await app((_req, res) => res.end('holder'));
      await routeTo(await portOf());
      await assert.rejects(edge.configure({ host: '127.0.0.1', port: holder.port }), {
        code: 'CONFLICT',
        message: /port is in use/,
      });
      await assert.rejects(routeTo(1), { code: 'CONFLICT' });
      await closeServer(holder.server);
      apps.splice(apps.indexOf(holder), 1);
      port = holder.port;
      while (edge.address === undefined) await new Promise((resolve) => setTimeout(resolve, 20));
      assert.equal((await ask({})).status, 502);
    });

    it('keeps the routes for the next runner', async () => {
      const { port: to } = await app((_req, res) => res.end('kept'));
      await routeTo(to);
      edge.close();
      edge = new Edge({ dir, clock: systemClock, logger: noLog });
      await edge.configure({ host: '127.0.0.1', port });
      assert.equal((await ask({})).body, 'kept');
    });

    it('goes elsewhere and nowhere', async () => {
      const other = await portOf();
      await edge.configure({ host: '127.0.0.1', port: other });
      await assert.rejects(ask({ agent: false }), { code: 'ECONNREFUSED' });
      port = other;
      await edge.setRoutes([]);
      assert.equal((await ask({})).status, 404);
      await edge.configure(null);
      await assert.rejects(ask({ agent: false }), { code: 'ECONNREFUSED' });
    });
  });
});
