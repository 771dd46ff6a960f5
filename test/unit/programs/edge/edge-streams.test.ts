import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import http from 'node:http';
import net from 'node:net';
import { afterEach, beforeEach, describe, it } from 'node:test';

import { closeServer, EdgePlace } from '../../../support/edge-place.ts';
import { eventually } from '../../../support/eventually.ts';

describe('Edge with streams and switches', () => {
  let place: EdgePlace;
  beforeEach(async () => {
    place = await new EdgePlace().open();
  });
  afterEach(() => place.close());

  it('streams a large body both ways', async () => {
    const size = 64 * 1024 * 1024;
    const { port: to } = await place.app((req, res) => req.pipe(res));
    place.routeTo(to);
    const received = await new Promise<number>((resolve, reject) => {
      let bytes = 0;
      let sent = 0;
      const headers = { host: 'a.localhost', 'content-length': size };
      const req = http.request(
        { host: '127.0.0.1', port: place.port, method: 'PUT', headers },
        (res) => {
          res.on('data', (chunk: Buffer) => (bytes += chunk.length));
          res.on('end', () => {
            resolve(bytes);
          });
        },
      );
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

  describe('with random bodies', () => {
    const head = 'PUT / HTTP/1.1\r\nHost: a.localhost\r\nContent-Length: ';
    const hashOf = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex');
    /** Connects, and tells what hashes were answered. */
    const connected = () => {
      const socket = net.connect(place.port, '127.0.0.1');
      let answers = '';
      socket.on('data', (chunk: Buffer) => (answers += chunk.toString('latin1')));
      const told = (): string[] => answers.match(/[0-9a-f]{64}$|[0-9a-f]{64}(?=HTTP)/g) ?? [];
      return { socket, told };
    };
    /** Answers with the hash of what came, once it may read. */
    const hashing = async (mayRead: Promise<void> = Promise.resolve()): Promise<void> => {
      const { port: to } = await place.app((req, res) => {
        const hash = createHash('sha256');
        const take = (chunk: Buffer) => hash.update(chunk);
        void mayRead.then(() => req.on('data', take).on('end', () => res.end(hash.digest('hex'))));
      });
      place.routeTo(to);
    };

    it('passes them on as they came, also what came behind them', async () => {
      await hashing();
      const upload = async (bodies: readonly Buffer[]): Promise<void> => {
        const { socket, told } = connected();
        const all = bodies.map((body) => [
          Buffer.from(`${head}${String(body.length)}\r\n\r\n`),
          body,
        ]);
        socket.write(Buffer.concat(all.flat()));
        await eventually('all is answered', () => told().length === bodies.length);
        socket.destroy();
        assert.deepEqual(told(), bodies.map(hashOf));
      };
      const bodies = [3_000_000, 40_000, 16_384, 700, 1_000_000].map((size) => randomBytes(size));
      await Promise.all(bodies.map((body) => upload([body, ...bodies.slice(1)])));
    });

    it('changes nothing that the app has yet to take', async () => {
      const { promise, resolve } = Promise.withResolvers<undefined>();
      await hashing(promise);
      const body = randomBytes(24_000_000);
      const { socket, told } = connected();
      socket.write(`${head}${String(body.length)}\r\n\r\n`);
      // In pieces that are no whole read, until the edge takes no more of them.
      let at = 0;
      while (socket.writableLength < 100_000) {
        socket.write(body.subarray(at, (at += 30_000)));
        await new Promise((next) => setImmediate(next));
      }
      resolve(undefined);
      socket.write(body.subarray(at));
      await eventually('it is answered', () => told().length === 1);
      socket.destroy();
      assert.deepEqual(told(), [hashOf(body)]);
    });
  });

  it('takes no more from an app than its client reads', async () => {
    const chunk = Buffer.alloc(64 * 1024);
    const answer = { written: 0, isFull: false };
    const { port: to } = await place.app((_req, res) => {
      const write = (): void => {
        answer.isFull = false;
        do answer.written += chunk.length;
        while (res.write(chunk));
        answer.isFull = true;
        res.once('drain', write);
      };
      write();
    });
    place.routeTo(to);
    const socket = net.connect(place.port, '127.0.0.1', () => {
      socket.write('GET / HTTP/1.1\r\nHost: a.localhost\r\n\r\n');
    });
    socket.pause();
    // Full for a while: what the kernel's buffers take is taken by then.
    for (
      let still = 0, seen = -1;
      still < 20;
      still = answer.isFull && seen === answer.written ? still + 1 : 0
    ) {
      seen = answer.written;
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
    assert.ok(answer.written < 64 * 1024 * 1024, `${String(answer.written)} bytes`);
    socket.destroy();
  });

  it('closes the connection when an app breaks off in the middle of an answer', async () => {
    const { port: to } = await place.app((_req, res) => {
      res.writeHead(200, { 'content-length': '100' });
      res.write('half', () => res.socket?.destroy());
    });
    place.routeTo(to);
    await assert.rejects(place.ask({}), { code: 'ECONNRESET' });
  });

  it('ends the exchange with the app when the client leaves', async () => {
    const app = { left: false };
    const { port: to } = await place.app((req, res) => {
      res.on('close', () => (app.left = true));
      res.write('first');
      req.resume();
    });
    place.routeTo(to);
    const headers = { host: 'a.localhost' };
    const req = http.get({ host: '127.0.0.1', port: place.port, headers, agent: false }, (res) => {
      res.once('data', () => req.destroy());
      res.on('error', () => undefined);
    });
    req.on('error', () => undefined);
    while (!app.left) await new Promise((resolve) => setTimeout(resolve, 5));
  });

  it('switches under load without one failed request, on connections kept alive', async () => {
    const slow =
      (name: string): http.RequestListener =>
      (req, res) => {
        req.resume();
        setTimeout(() => res.end(name), 5);
      };
    const blue = await place.app(slow('blue'));
    const green = await place.app(slow('green'));
    place.routeTo(blue.port);
    const seen = new Map<string, number>();
    const load = { stop: false };
    const clients = Array.from({ length: 20 }, async (_each, i) => {
      while (!load.stop) {
        const answer = i % 2 ? await place.ask({}) : await place.ask({ method: 'POST' }, 'body');
        assert.equal(answer.status, 200);
        seen.set(answer.body, (seen.get(answer.body) ?? 0) + 1);
      }
    });
    const reach = async (name: string, count: number): Promise<void> => {
      while ((seen.get(name) ?? 0) < count) await new Promise((resolve) => setTimeout(resolve, 5));
    };
    await reach('blue', 100);
    place.routeTo(green.port);
    const answer = await place.ask({});
    assert.equal(answer.body, 'green');
    await reach('green', 100);
    // The old one ends as apps do: takes nothing new, finishes what it has.
    await closeServer(blue.server);
    await reach('green', 300);
    load.stop = true;
    await Promise.all(clients);
  });

  it('survives apps that close kept connections at any moment', async () => {
    const { port: to, server } = await place.app((_req, res) => res.end('ok'));
    server.keepAliveTimeout = 1;
    place.routeTo(to);
    for (let i = 0; i < 300; i++) {
      assert.equal((await place.ask({})).status, 200);
      if (i % 10 === 0) await new Promise((resolve) => setTimeout(resolve, 1));
    }
  });

  it('asks again over a new connection where the app has closed all that are kept', async () => {
    const held: http.ServerResponse[] = [];
    const asked = new Map<unknown, number>();
    const { port: to } = await place.app((req, res) => {
      const before = asked.get(req.socket) ?? 0;
      asked.set(req.socket, before + 1);
      if (before > 0) req.socket.destroy();
      else if (req.url === '/together') held.push(res);
      else res.end('ok');
    });
    place.routeTo(to);
    const together = Array.from({ length: 8 }, () => place.ask({ path: '/together' }));
    await eventually('all of them', () => held.length === 8);
    for (const res of held) res.end('ok');
    await Promise.all(together);
    assert.equal((await place.ask()).status, 200);
  });
});
