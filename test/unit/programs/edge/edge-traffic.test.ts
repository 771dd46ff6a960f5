import assert from 'node:assert/strict';
import { once } from 'node:events';
import net from 'node:net';
import { afterEach, beforeEach, describe, it } from 'node:test';

import { defaultEdgeSettings } from '../../../../src/protocol/app-edge-settings.ts';
import {
  ownTraffic,
  trafficAt,
  trafficClasses,
  type TrafficReport,
} from '../../../../src/protocol/traffic.ts';
import { EdgePlace } from '../../../support/edge-place.ts';
import { eventually } from '../../../support/eventually.ts';

describe('Edge, counting visitors', () => {
  let place: EdgePlace;
  let port: number;
  beforeEach(async () => {
    place = await new EdgePlace().open();
    const app = await place.app((req, res) => {
      res.statusCode = parseInt(req.url?.slice(1) ?? '') || 200;
      req.resume().once('end', () => res.end('hello'));
    });
    app.server.on('upgrade', (_req, socket) => {
      socket.write(
        'HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n',
      );
      socket.on('data', (bytes: Buffer) => socket.write(bytes));
      socket.once('end', () => socket.end());
    });
    ({ port } = app);
  });
  afterEach(() => place.close());

  function routeTo(targets: readonly number[], settings = {}): void {
    place.edge.setRoutes([
      {
        host: 'a.localhost',
        targets: targets.map((to) => ({ host: '127.0.0.1', port: to })),
        app: { id: 'app_a', name: 'A' },
        settings: { ...defaultEdgeSettings, ...settings },
      },
    ]);
  }
  const newest = (): TrafficReport | undefined =>
    place.news.flatMap((news) => ('traffic' in news ? news.traffic : [])).at(-1);
  const count = (name: (typeof trafficClasses)[number]): number =>
    newest()?.counts[trafficClasses.indexOf(name)] ?? 0;

  it('tells what apps answered, and what was answered in their place', async () => {
    routeTo([port]);
    await place.ask({ path: '/' });
    await place.ask({ path: '/404' });
    await place.ask({ path: '/500', method: 'POST' }, 'four');
    routeTo([]);
    assert.equal((await place.ask({})).status, 503);
    routeTo([port], { maintenance: true });
    assert.equal((await place.ask({})).status, 503);
    await eventually('it was told', () => count('edge') === 2);
    assert.deepEqual(
      ['2xx', '4xx', '5xx', 'aborted'].map((name) => count(name as '2xx')),
      [1, 1, 1, 0],
    );
    assert.equal(newest()?.counts[trafficAt.bytesIn], 4);
    assert.equal(newest()?.counts[trafficAt.bytesOut], 15);
  });

  it("tells what it answered before it was said whose it is, as nobody's", async () => {
    routeTo([port]);
    const of = (name: (typeof trafficClasses)[number]): number => {
      const own = place.news
        .flatMap((news) => ('traffic' in news ? news.traffic : []))
        .findLast(({ app }) => app === ownTraffic);
      return own?.counts[trafficClasses.indexOf(name)] ?? 0;
    };
    assert.equal((await place.ask({ headers: { host: 'nobody.localhost' } })).status, 404);
    assert.match(await place.raw('GET / HTTP/1.1\r\nhost: a b\r\n\r\n'), /^HTTP\/1.1 400 /);
    assert.match(await place.raw('no request\r\n\r\n'), /^HTTP\/1.1 400 /);
    await eventually('it was told', () => of('4xx') === 3);
    const host = 'old.localhost';
    place.edge.setRoutes([{ host, targets: [], redirectTo: 'a.localhost' }]);
    assert.equal((await place.ask({ headers: { host } })).status, 308);
    await eventually('it was told, too', () => of('3xx') === 1);
    assert.equal(of('4xx'), 3);
  });

  it('tells how many WebSockets are open, and what went through them', async () => {
    routeTo([port]);
    const socket = net.connect(place.port, '127.0.0.1');
    socket.write(
      'GET / HTTP/1.1\r\nhost: a.localhost\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n',
    );
    await once(socket, 'data');
    await eventually('it is open', () => newest()?.sockets === 1);
    socket.write('12345');
    await once(socket, 'data');
    socket.destroy();
    await eventually('it is closed', () => newest()?.sockets === 0);
    assert.equal(newest()?.counts[trafficAt.bytesIn], 5);
    assert.equal(newest()?.counts[trafficAt.bytesOut], 5);
    assert.equal(count('aborted'), 0);
  });

  it('tells lines where the app wants them, of the visitor that a trusted proxy names', async () => {
    place.edge.trust(['127.0.0.1']);
    routeTo([port]);
    await place.ask({ path: '/?not' });
    routeTo([port], { accessLog: true });
    const headers = { 'x-forwarded-for': '203.0.113.9', 'user-agent': 'me', cookie: 'secret=1' };
    await place.ask({ path: '/404?q', headers });
    const lines = (): string =>
      place.news.flatMap((news) => ('access' in news ? news.access : [])).join();
    await eventually('it was told', () => lines() !== '');
    assert.match(
      lines(),
      /^app_a,203\.0\.113\.9 - - \[.*\] "GET \/404\?q HTTP\/1\.1" 404 5 "-" "me" a\.localhost 0 \d/,
    );
    assert.doesNotMatch(lines(), /secret|not/);
  });
});
