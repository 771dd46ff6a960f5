/** Clients that open connections to the edge and send half a head, or whole ones that no answer comes for. */
import assert from 'node:assert/strict';
import net from 'node:net';
import type { Socket } from 'node:net';
import { after, before, describe, it } from 'node:test';

import { EdgePlace } from '../support/edge-place.ts';
import { eventually } from '../support/eventually.ts';

const half = 'GET / HTTP/1.1\r\nHost: a.localhost\r\nX-Slow: ';

describe('an edge that one client floods', () => {
  const near = { connections: 20, waiting: 10, pace: { atOnce: 1000, everyMs: 1 } };
  const place = new EdgePlace({ bounds: { connectionsMax: 30, near } });
  let slow: number;
  before(async () => {
    await place.open();
    const app = await place.app((req, res) => {
      if (req.url !== '/never') res.end('here');
    });
    slow = app.port;
    place.routeTo(slow);
  });
  after(() => place.close());

  function open(count: number, text: string): Socket[] {
    return Array.from({ length: count }, () => {
      const socket = net.connect(place.port, '127.0.0.1', () => socket.write(text));
      socket.on('error', () => undefined);
      socket.resume();
      return socket;
    });
  }
  const living = (sockets: readonly Socket[]): number =>
    sockets.filter((socket) => !socket.closed).length;

  it('keeps as many half heads as one client may have, and serves whole ones meanwhile', async () => {
    const flood = open(60, half);
    await eventually('the bound', () => living(flood) <= near.waiting);
    for (let i = 0; i < 5; i++) {
      const answer = await place.ask({ agent: false });
      assert.deepEqual([answer.status, answer.body], [200, 'here']);
    }
    // The newest are those that are left.
    assert.equal(living(flood.slice(0, 20)), 0);
    for (const socket of flood) socket.destroy();
  });

  it('does not take a kept connection for a half head while it is used', async () => {
    const used = net.connect(place.port, '127.0.0.1');
    used.on('error', () => undefined);
    let text = '';
    used.on('data', (chunk) => (text += chunk.toString('latin1')));
    for (let asked = 1; asked <= 5; asked++) {
      used.write('GET / HTTP/1.1\r\nHost: a.localhost\r\n\r\n');
      await eventually('an answer', () => text.split('HTTP/1.1 200 ').length > asked);
      const flood = open(near.waiting - 1, half);
      await eventually('all to be open', () => flood.every((socket) => !socket.connecting));
      for (const socket of flood) socket.destroy();
    }
    assert.equal(used.closed, false);
    used.destroy();
  });

  it('refuses with 503 who has all its connections at work, and serves again', async () => {
    const flood: Socket[] = [];
    // One by one: a connection waits until its head has come.
    while (flood.length < near.connections) {
      const [socket] = open(1, 'GET /never HTTP/1.1\r\nHost: a.localhost\r\n\r\n');
      if (socket) flood.push(socket);
      await eventually('its head', () => socket?.bytesWritten !== 0);
      await new Promise((resolve) => setImmediate(resolve));
    }
    await eventually('a refusal', async () => {
      const text = await place.raw('').catch(() => '');
      return /^HTTP\/1\.1 503 .*too many connections/s.test(text);
    });
    assert.equal(living(flood), near.connections);
    for (const socket of flood) socket.destroy();
    await eventually('an answer', () =>
      place.ask({ agent: false }).then(
        ({ status }) => status === 200,
        () => false,
      ),
    );
  });
});

it('an edge serves those that wait at its door in their turn, and outlives those that leave', async () => {
  const near = { connections: 500, waiting: 500, pace: { atOnce: 1, everyMs: 20 } };
  const place = new EdgePlace({ bounds: { near } });
  await place.open();
  const unexpected: unknown[] = [];
  const note = (error: unknown): void => void unexpected.push(error);
  process.on('uncaughtException', note);
  try {
    place.routeTo((await place.app((_req, res) => res.end('here'))).port);
    const answers = Array.from({ length: 10 }, () => place.ask({ agent: false }));
    const leaving = Array.from({ length: 50 }, () => net.connect(place.port, '127.0.0.1'));
    for (const socket of leaving) {
      socket.once('connect', () => {
        socket.write('GET / HTTP/1.1\r\nHost: a.localhost\r\n\r\n');
        socket.resetAndDestroy();
      });
    }
    for (const { status, body } of await Promise.all(answers)) {
      assert.deepEqual([status, body], [200, 'here']);
    }
    assert.equal((await place.ask({ agent: false })).body, 'here');
    assert.deepEqual(unexpected, []);
  } finally {
    process.off('uncaughtException', note);
    await place.close();
  }
});
