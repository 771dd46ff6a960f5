import assert from 'node:assert/strict';
import { WebSocket, WebSocketServer } from 'ws';
import { afterEach, beforeEach, describe, it } from 'node:test';

import { EdgePlace } from '../../../support/edge-place.ts';
import { freePort } from '../../../support/ports.ts';
import type { App } from '../../../support/edge-place.ts';

describe('Edge with WebSockets', () => {
  let place: EdgePlace;
  beforeEach(async () => {
    place = await new EdgePlace().open();
  });
  afterEach(() => place.close());

  const connect = (): WebSocket =>
    new WebSocket(`ws://127.0.0.1:${String(place.port)}/chat`, {
      headers: { host: 'a.localhost' },
    });
  const once = (socket: WebSocket, event: string): Promise<unknown> =>
    new Promise((resolve, reject) => {
      socket.once(event, resolve);
      if (event !== 'error') socket.once('error', reject);
    });

  async function echo(): Promise<App & { sockets: WebSocketServer }> {
    const made = await place.app((_req, res) => res.end('plain'));
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
    place.routeTo(await freePort(), to);
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
    place.routeTo(to);
    const socket = connect();
    await once(socket, 'message');
    place.routeTo();
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
    place.edge.setRoutes([]);
    assert.equal(await refusal(), 404);
    place.routeTo();
    assert.equal(await refusal(), 503);
    place.routeTo(await freePort());
    assert.equal(await refusal(), 502);
    const { port: to, server } = await place.app(() => undefined);
    server.on('upgrade', (_req, socket) => socket.end('HTTP/1.1 403 Forbidden\r\n\r\n'));
    place.routeTo(to);
    assert.equal(await refusal(), 403);
  });
});
