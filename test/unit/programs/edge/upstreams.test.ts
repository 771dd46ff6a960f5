import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, it } from 'node:test';
import type { Tenants } from '../../../../src/programs/edge/upstreams.ts';
import { EdgePlace } from '../../../support/edge-place.ts';

describe('the edge before a workload', () => {
  let place: EdgePlace;
  /** What is seen at each look. */
  let seen: string[][];
  let looks: number;
  let connections: number;
  let requests: number;

  beforeEach(async () => {
    looks = connections = requests = 0;
    const tenants: Tenants = {
      ownSockets: () => Promise.resolve(new Set(seen[Math.min(looks++, seen.length - 1)])),
    };
    place = await new EdgePlace({ tenants }).open();
    const { port, server } = await place.app((_req, res) => {
      requests++;
      res.end('fine');
    });
    server.on('connection', () => connections++);
    const target = { host: '127.0.0.1', port, workload: 'web-1' };
    await place.edge.setRoutes([{ host: 'a.localhost', targets: [target] }]);
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
    place.edge.close();
    await place.reopen();
    looks = 0;
    // By what was seen last another one listened there.
    seen = [['1'], ['2'], ['2']];
    assert.equal((await place.ask()).body, 'fine');
    assert.equal(requests, 2);
  });
});
