import assert from 'node:assert/strict';
import { once } from 'node:events';
import net from 'node:net';
import { afterEach, beforeEach, describe, it } from 'node:test';
import type { OwnPlace, Tenants } from '../../../../src/protocol/edge-messages.ts';
import type { EdgeRoute } from '../../../../src/protocol/workload.ts';
import { EdgePlace } from '../../../support/edge-place.ts';
import { freePort } from '../../../support/ports.ts';

describe('the edge before a workload', () => {
  let place: EdgePlace;
  let routes: EdgeRoute[];
  /** What is seen at each look. */
  let seen: string[][];
  let looks: number;
  let connections: number;
  let requests: number;

  beforeEach(async () => {
    looks = connections = requests = 0;
    const tenants: Tenants = {
      ownSockets: () => Promise.resolve(new Set(seen[Math.min(looks++, seen.length - 1)])),
      ownPlace: () => undefined,
      leadIn: () => Promise.resolve(false),
    };
    place = await new EdgePlace({ tenants }).open();
    const { port, server } = await place.app((_req, res) => {
      requests++;
      res.end('fine');
    });
    server.on('connection', () => connections++);
    const target = { host: '127.0.0.1', port, workload: 'web-1' };
    routes = [{ host: 'a.localhost', targets: [target] }];
    place.edge.setRoutes(routes);
  });
  afterEach(() => place.close());

  it('looks who listens for each new connection, not for each request', async () => {
    seen = [['1']];
    for (let asked = 0; asked < 3; asked++) assert.equal((await place.ask()).body, 'fine');
    assert.deepEqual([looks, connections, requests], [2, 1, 3]);
  });

  it('asks nobody while the workload does not listen', async () => {
    seen = [[]];
    assert.equal((await place.ask()).status, 502);
    assert.deepEqual([connections, requests], [0, 0]);
  });

  it('sends nothing over a connection that somebody else may have taken', async () => {
    seen = [['1'], [], ['2'], ['3'], ['4']];
    assert.equal((await place.ask()).status, 502);
    assert.equal(requests, 0);
  });

  it('reaches a workload that was started again', async () => {
    seen = [['1'], ['1']];
    assert.equal(
      (await place.ask({ agent: false, headers: { connection: 'close' } })).body,
      'fine',
    );
    await place.reopen();
    place.edge.setRoutes(routes);
    looks = 0;
    // By what was seen last another one listened there.
    seen = [['1'], ['2'], ['2']];
    assert.equal((await place.ask()).body, 'fine');
    assert.equal(requests, 2);
  });
});

describe('the edge before many requests at once', () => {
  it('lets some for a workload begin in a turn, and others before the rest', async () => {
    const begun: { workload: string; turn: number }[] = [];
    let turn = 0;
    const count = (): void => {
      turn++;
      counting = setImmediate(count);
    };
    let counting = setImmediate(count);
    const at: OwnPlace = { host: '127.0.0.1', port: await freePort() };
    const tenants: Tenants = {
      ownSockets: () => Promise.resolve(new Set()),
      ownPlace: ({ workload = '' }) => {
        begun.push({ workload, turn });
        return at;
      },
      leadIn: () => Promise.resolve(false),
    };
    const place = await new EdgePlace({ tenants }).open();
    const sockets = Array.from({ length: 41 }, () => net.connect(place.port, '127.0.0.1'));
    try {
      const routeOf = (host: string) => {
        return { host, targets: [{ ...at, workload: host }] };
      };
      place.edge.setRoutes(['many.localhost', 'quiet.localhost'].map(routeOf));
      for (const socket of sockets) socket.write('GET / HTTP/1.1\r\nHost: none\r\n\r\n');
      // The edge has taken all of them.
      await Promise.all(sockets.map((socket) => once(socket, 'data')));
      const answers = sockets.map((socket) => once(socket, 'data'));
      // All heads are there before the edge reads any.
      for (const [number, socket] of sockets.entries())
        socket.write(
          `GET / HTTP/1.1\r\nHost: ${number === 40 ? 'quiet' : 'many'}.localhost\r\n\r\n`,
        );
      for (const [answer] of await Promise.all(answers))
        assert.match(String(answer), /^HTTP\/1\.1 502/);
      assert.equal(begun.length, 41);
      const before = begun.findIndex(({ workload }) => workload === 'quiet.localhost');
      assert.ok(before <= 36, String(before));
      const turns = Map.groupBy(begun, (one) => `${one.workload} ${String(one.turn)}`);
      assert.ok([...turns.values()].every(({ length }) => length <= 4));
    } finally {
      clearImmediate(counting);
      for (const socket of sockets) socket.destroy();
      await place.close();
    }
  });
});

describe('the edge before a workload in a network of its own', () => {
  let place: EdgePlace;
  let at: OwnPlace | undefined;
  let requests: number;
  let refusals: number;
  /** What happens while a connection is opened. */
  let meanwhile: () => void;

  beforeEach(async () => {
    requests = refusals = 0;
    meanwhile = () => undefined;
    const tenants: Tenants = {
      ownSockets: () => Promise.resolve(new Set()),
      ownPlace: () => at,
      leadIn: () => {
        refusals++;
        meanwhile();
        return Promise.resolve(true);
      },
    };
    place = await new EdgePlace({ tenants }).open();
    const { port, server } = await place.app((_req, res) => {
      requests++;
      res.end('fine');
    });
    server.on('connection', () => {
      meanwhile();
    });
    at = { host: '127.0.0.1', port };
    // Where it was when the route was made.
    const target = { host: '127.0.0.9', port: 1, workload: 'web-1' };
    place.edge.setRoutes([{ host: 'a.localhost', targets: [target] }]);
  });
  afterEach(() => place.close());

  it('goes where that is now', async () => {
    for (let asked = 0; asked < 3; asked++) assert.equal((await place.ask()).body, 'fine');
    assert.deepEqual([requests, refusals], [3, 0]);
  });

  it('sends nothing once it is elsewhere, or nowhere', async () => {
    const { port = 0 } = at ?? {};
    meanwhile = () => {
      at = { host: '127.0.0.1', port };
    };
    assert.equal((await place.ask()).status, 502);
    at = undefined;
    assert.equal((await place.ask()).status, 502);
    assert.equal(requests, 0);
  });

  it('tries again when what refused it is led in', async () => {
    const real = at;
    const moving = { host: '127.0.0.1', port: await freePort() };
    at = moving;
    meanwhile = () => {
      moving.port = real?.port ?? 0;
    };
    assert.equal((await place.ask()).body, 'fine');
    assert.equal(refusals, 1);
  });
});
