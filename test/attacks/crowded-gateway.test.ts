/** One client that opens all connections of the panel it can, and holds them in the ways that HTTP allows. */
import assert from 'node:assert/strict';
import { connect, type Socket } from 'node:net';
import { after, afterEach, before, describe, it } from 'node:test';

import type { Route } from '../../src/gateway/transport.ts';
import { healthRoute } from '../../src/gateway/transports/health.ts';
import { eventually } from '../support/eventually.ts';
import { startGateway, type TestGateway } from '../support/gateway.ts';
import { ManualClock } from '../support/manual-clock.ts';

const head = 'GET /api/health HTTP/1.1\r\nHost: a\r\n';
const maxSockets = 64;
/** Only who comes from this address is not all of loopback, but somebody else. */
const other = '127.0.0.9';

describe('a gateway whose connections one client takes', () => {
  const never: Route = { method: 'GET', path: '/never', handle: () => undefined };
  const clock = new ManualClock();
  const sockets = new Set<Socket>();
  let server: TestGateway;
  before(async () => {
    const options = { limits: { maxSockets, answerMs: 3_600_000 }, trustedProxies: [other], clock };
    server = await startGateway([healthRoute, never], options);
  });
  after(() => server.gateway.abort());
  afterEach(async () => {
    for (const socket of sockets) socket.destroy();
    sockets.clear();
    await eventually('all to be closed', async () =>
      /gangway_http_sockets 0$/m.test(await server.gateway.metrics.text()),
    );
  });

  function open(text: string, localAddress = '127.0.0.1'): Socket {
    const socket = connect({ port: server.port, host: '127.0.0.1', localAddress });
    sockets.add(socket);
    socket.on('error', () => undefined).resume();
    return socket.on('connect', () => socket.write(text));
  }

  /** Opens one after the other, until `count` were opened. */
  async function flood(count: number, text: string): Promise<void> {
    for (let i = 0; i < count; i++) {
      const socket = open(text);
      await eventually('it to be taken or refused', () => socket.closed || !socket.connecting);
    }
  }

  async function othersAreServed(): Promise<void> {
    for (let i = 0; i < 4; i++) {
      const socket = open(`${head}\r\n`, other);
      let text = '';
      socket.on('data', (bytes: Buffer) => (text += bytes.toString('latin1')));
      await eventually('an answer', () => {
        assert.ok(!socket.closed, 'It was refused.');
        return text.startsWith('HTTP/1.1 200 ');
      });
    }
  }

  it('has room for others beside half heads', async () => {
    await flood(2 * maxSockets, head);
    await othersAreServed();
  });

  it('has room for others beside requests that take long', async () => {
    await flood(2 * maxSockets, 'GET /never HTTP/1.1\r\nHost: a\r\n\r\n');
    // What it opened lately is forgotten; what it has under way is not.
    for (let i = 0; i < 4; i++) {
      await clock.advance(20_000);
      await flood(maxSockets / 4, 'GET /never HTTP/1.1\r\nHost: a\r\n\r\n');
    }
    await othersAreServed();
  });

  it('keeps no connection that was answered while others need it', async () => {
    for (let i = 0; i < 8; i++) {
      await clock.advance(20_000);
      await flood(maxSockets / 4, `${head}\r\n`);
      for (const socket of sockets) if (!socket.closed) socket.write(`${head}\r\n`);
    }
    await othersAreServed();
  });
});
