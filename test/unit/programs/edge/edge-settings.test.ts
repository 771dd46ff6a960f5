import assert from 'node:assert/strict';
import type { IncomingMessage, ServerResponse } from 'node:http';
import net from 'node:net';
import { once } from 'node:events';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { WebSocket, WebSocketServer } from 'ws';

import {
  type AppEdgeSettings,
  defaultEdgeSettings,
} from '../../../../src/protocol/app-edge-settings.ts';
import { noHead } from '../../../../src/programs/edge/http1/request-head.ts';
import type { Visit, VisitEvents } from '../../../../src/programs/edge/visit.ts';
import { EdgePlace } from '../../../support/edge-place.ts';
import { eventually } from '../../../support/eventually.ts';
import { ManualClock } from '../../../support/manual-clock.ts';

const app = { id: 'app_1', name: 'Shop' };
const mebibyte = 1024 * 1024;

/** A visit whose body the test sends. */
class Upload implements Visit {
  readonly head = {
    ...noHead,
    method: 'POST',
    target: '/',
    host: 'a.localhost',
    body: 'chunked',
  } as const;
  readonly origin = { address: '127.0.0.1', proto: 'http' } as const;
  readonly holdsBytes = false;
  events: VisitEvents | undefined;
  /** Whether more of it is wanted. */
  isFlowing = false;
  /** Of the answer; 0: there is none. */
  status = 0;

  listen(events: VisitEvents): void {
    this.events = events;
  }

  takeBody(): void {
    this.isFlowing = true;
  }

  pauseBody(): void {
    this.isFlowing = false;
  }

  resumeBody(): void {
    this.isFlowing = true;
  }

  notice({ status }: { status: number }): void {
    this.status = status;
  }

  answer(): void {
    assert.fail('The app does not answer');
  }

  flush(): boolean {
    return true;
  }

  dropBody(): void {}
  interim(): void {}
  bytes(): void {}
  end(): void {}
  cut(): void {}
}

describe('the edge and what an app wants of it', () => {
  let clock: ManualClock;
  let place: EdgePlace;
  beforeEach(async () => {
    clock = new ManualClock();
    place = await new EdgePlace({ clock }).open();
  });
  afterEach(() => place.close());

  const lead = (wanted: Partial<AppEdgeSettings>, ...ports: number[]): void => {
    const targets = ports.map((port) => ({ host: '127.0.0.1', port }));
    const settings = { ...defaultEdgeSettings, ...wanted };
    place.edge.setRoutes([{ host: 'a.localhost', targets, app, settings }]);
  };
  /** An app whose answers the test gives. */
  const holding = async (): Promise<{ port: number; held: ServerResponse[] }> => {
    const held: ServerResponse[] = [];
    const { port } = await place.app((_req, res) => void held.push(res));
    return { port, held };
  };
  const opened = async (text: string): Promise<{ socket: net.Socket; read: () => string }> => {
    const socket = net.connect(place.port, '127.0.0.1', () => socket.write(text));
    let all = '';
    socket.on('data', (bytes) => (all += bytes.toString('latin1')));
    socket.on('error', () => undefined);
    await once(socket, 'connect');
    return { socket, read: () => all };
  };

  it('prefers the target with the fewest requests under way', async () => {
    const { port, held } = await holding();
    const other = await place.app((_req, res) => res.end('other'));
    lead({}, port, other.port);
    const slow = [place.ask(), place.ask()];
    await eventually('one that is held', () => held.length === 1);
    for (let times = 0; times < 4; times++) assert.equal((await place.ask()).body, 'other');
    held[0]?.end('one');
    const bodies = (await Promise.all(slow)).map(({ body }) => body);
    assert.deepEqual(bodies.sort(), ['one', 'other']);
    // Both are free again.
    const next = [place.ask(), place.ask()];
    await eventually('one that is held', () => held.length === 2);
    held[1]?.end('one');
    await Promise.all(next);
  });

  it('answers 504 for an app that is silent for too long, with its name and the id it got', async () => {
    let sent: unknown;
    const { port } = await place.app((req) => (sent = req.headers['x-request-id']));
    lead({ idleSeconds: 5 }, port);
    const asked = place.ask({ headers: { accept: 'application/json' } });
    await eventually('the request', () => sent !== undefined);
    await clock.advance(7000);
    const { status, headers, body } = await asked;
    assert.equal(status, 504);
    assert.equal(headers['x-request-id'], sent);
    const told = JSON.parse(body) as Record<string, unknown>;
    assert.deepEqual([told['app'], told['requestId']], ['Shop', sent]);
  });

  it('breaks off an answer that goes silent, and not one that goes on', async () => {
    const { port, held } = await holding();
    lead({ idleSeconds: 5 }, port);
    const { socket, read } = await opened('GET / HTTP/1.1\r\nHost: a.localhost\r\n\r\n');
    const closed = once(socket, 'close');
    await eventually('the request', () => held.length === 1);
    for (let piece = 1; piece <= 4; piece++) {
      held[0]?.write(`piece ${String(piece)}`);
      await eventually('the piece', () => read().includes(`piece ${String(piece)}`));
      await clock.advance(4000);
    }
    assert.ok(!socket.destroyed);
    await clock.advance(4000);
    await closed;
  });

  it('answers 408 to a visitor who stops sending', async () => {
    const { port, held } = await holding();
    lead({ idleSeconds: 5 }, port);
    const { socket, read } = await opened(
      'POST / HTTP/1.1\r\nHost: a.localhost\r\nContent-Length: 10\r\n\r\nhalf',
    );
    await eventually('the request', () => held.length === 1);
    await clock.advance(7000);
    await eventually('the answer', () => read().startsWith('HTTP/1.1 408 '));
    socket.destroy();
  });

  it('answers 504 for an app that takes the end of a body late and stays silent', async () => {
    const requests: IncomingMessage[] = [];
    const { port } = await place.app((req) => void requests.push(req));
    lead({ idleSeconds: 5 }, port);
    const visit = new Upload();
    place.edge.visit(visit);
    await eventually('the request', () => visit.isFlowing && requests.length === 1);
    // Its last piece is the one that is too much for the app.
    const piece = Buffer.alloc(16 * 1024);
    while (visit.isFlowing) {
      visit.events?.bodyBytes(piece, 0, piece.length);
      visit.events?.bodyFlush();
    }
    visit.events?.bodyEnd('');
    const [request] = requests;
    assert.ok(request);
    await once(request.resume(), 'end');
    await clock.advance(7000);
    assert.equal(visit.status, 504);
  });

  it('ends what takes longer in all than it may, however much comes', async () => {
    const { port, held } = await holding();
    lead({ totalSeconds: 10 }, port);
    const asked = place.ask();
    await eventually('the first', () => held.length === 1);
    const { socket, read } = await opened('GET / HTTP/1.1\r\nHost: a.localhost\r\n\r\n');
    const closed = once(socket, 'close');
    await eventually('the second', () => held.length === 2);
    for (let second = 0; second < 9; second++) {
      held[1]?.write(`piece ${String(second)}`);
      await eventually('the piece', () => read().includes(`piece ${String(second)}`));
      await clock.advance(1000);
    }
    assert.ok(!socket.destroyed);
    await clock.advance(3000);
    await closed;
    assert.equal((await asked).status, 504);
  });

  it('leaves WebSockets alone, however long they are silent', async () => {
    const { port, server } = await place.app((_req, res) => res.end());
    new WebSocketServer({ server }).on('connection', (one) =>
      one.on('message', (text) => one.send(text)),
    );
    lead({ idleSeconds: 5, totalSeconds: 10 }, port);
    const headers = { host: 'a.localhost' };
    const socket = new WebSocket(`ws://127.0.0.1:${String(place.port)}/`, { headers });
    await once(socket, 'open');
    await clock.advance(30_000);
    socket.send('still');
    assert.equal(String((await once(socket, 'message'))[0]), 'still');
    socket.terminate();
  });

  it('answers 413 to a body that is too large, told or not', async () => {
    let began = 0;
    const { port } = await place.app((req, res) => {
      began++;
      let bytes = 0;
      req.on('data', (chunk: Buffer) => (bytes += chunk.length));
      req.on('end', () => res.end(String(bytes)));
      req.on('error', () => undefined);
    });
    lead({ maxBodyMb: 1 }, port);
    const fits = await place.ask({ method: 'POST' }, Buffer.alloc(mebibyte));
    assert.equal(fits.body, String(mebibyte));
    const told = await place.ask({ method: 'POST' }, Buffer.alloc(mebibyte + 1));
    assert.deepEqual([told.status, told.headers.connection, began], [413, 'close', 1]);
    assert.match(told.body, /larger than what this app takes/);
    const chunked = { 'transfer-encoding': 'chunked' };
    const untold = await place.ask(
      { method: 'POST', headers: chunked },
      Buffer.alloc(mebibyte + 1),
    );
    assert.equal(untold.status, 413);
    lead({}, port);
    const any = await place.ask({ method: 'POST' }, Buffer.alloc(mebibyte + 1));
    assert.equal(any.body, String(mebibyte + 1));
  });

  it('lets in as many at once as the app wants, over all its hosts', async () => {
    const { port, held } = await holding();
    const targets = [{ host: '127.0.0.1', port }];
    const settings = { ...defaultEdgeSettings, maxConnections: 2 };
    const hosts = ['a.localhost', 'b.localhost'];
    place.edge.setRoutes(hosts.map((host) => ({ host, targets, app, settings })));
    const first = place.ask();
    const second = place.ask({ headers: { host: 'b.localhost' } });
    await eventually('both', () => held.length === 2);
    const third = await place.ask();
    assert.equal(third.status, 503);
    assert.match(third.body, /too many visitors/);
    assert.ok(Number(third.headers['retry-after']) > 0);
    // Other routes are no other count.
    place.edge.setRoutes(hosts.map((host) => ({ host, targets, app, settings })));
    assert.equal((await place.ask()).status, 503);
    held[0]?.end('first');
    await Promise.race([first, second]);
    const fourth = place.ask();
    await eventually('the next', () => held.length === 3);
    for (const one of held.slice(1)) one.end();
    await Promise.all([first, second, fourth]);
  });

  it('lets in its part of that where several processes serve, rounded up', async () => {
    const { port, held } = await holding();
    const targets = [{ host: '127.0.0.1', port }];
    const settings = { ...defaultEdgeSettings, maxConnections: 3 };
    place.edge.shareWith(2);
    place.edge.setRoutes([{ host: 'a.localhost', targets, app, settings }]);
    const first = [place.ask(), place.ask()];
    await eventually('both', () => held.length === 2);
    assert.equal((await place.ask()).status, 503);
    for (const one of held) one.end();
    await Promise.all(first);
  });

  it("tells app and visitor the same id, the visitor's own where that is well-formed", async () => {
    const { port } = await place.app((req, res) => {
      res.setHeader('x-request-id', 'of-the-app');
      res.end(String(req.headers['x-request-id']));
    });
    lead({}, port);
    const idFor = async (own: string | string[] | undefined): Promise<string> => {
      const headers = own === undefined ? {} : { 'X-Request-ID': own };
      const answer = await place.ask({ headers });
      assert.equal(answer.headers['x-request-id'], answer.body);
      return answer.body;
    };
    const made = /^[0-9a-f]{8}-[0-9a-f-]{27}$/;
    assert.match(await idFor(undefined), made);
    assert.notEqual(await idFor(undefined), await idFor(undefined));
    for (const good of ['a', 'A-1_b.c', 'x'.repeat(128)]) assert.equal(await idFor(good), good);
    const bad = ['', 'a b', 'ä', 'a,b', 'x'.repeat(129), ['a', 'b']];
    for (const one of bad) assert.match(await idFor(one), made);
    place.routeTo();
    const headers = { 'x-request-id': 'mine' };
    assert.equal((await place.ask({ headers })).headers['x-request-id'], 'mine');
  });

  it('tells browsers to come by HTTPS alone, where they came so', async () => {
    const { port } = await place.app((_req, res) => res.end());
    const told = async (proto: string): Promise<unknown> => {
      const { headers } = await place.ask({ headers: { 'x-forwarded-proto': proto } });
      return headers['strict-transport-security'];
    };
    place.edge.trust(['127.0.0.1']);
    lead({ hsts: 31_536_000 }, port);
    assert.equal(await told('https'), 'max-age=31536000');
    assert.equal(await told('http'), undefined);
    lead({}, port);
    assert.equal(await told('https'), undefined);
    place.edge.trust([]);
    lead({ hsts: 60 }, port);
    assert.equal(await told('https'), undefined);
  });
});
