import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { WebSocket } from 'ws';
import type { AuditedRequest } from '../../../../src/auth/audit.ts';
import { put } from '../../../../src/store/records/table.ts';
import { tables } from '../../../../src/store/records/tables.ts';
import { eventually } from '../../../support/eventually.ts';
import { appRecord } from '../../../support/graphql-fixture.ts';
import { type GraphqlGateway, startGraphql } from '../../../support/graphql-gateway.ts';
import { RawGraphqlSocket } from '../../../support/graphql-socket.ts';
import { ManualClock } from '../../../support/manual-clock.ts';

const status = 'subscription($id: ID!) { appStatus(id: $id) { id status } }';

describe('a slow reader of GraphQL over WebSocket', () => {
  let api: GraphqlGateway;
  before(async () => {
    api = await startGraphql();
  });
  after(() => api.close());

  it('gets the newest state when it reads on, and holds up nothing', async () => {
    const name = 'x'.repeat(200_000);
    const change = (status: 'idle' | 'active', mark: number) =>
      api.fixture.accounts.store.write([
        put(tables.apps, appRecord('app_b', 'team_a', { status, name: `${name}${mark}` })),
      ]);
    change('idle', 0);
    const socket = await RawGraphqlSocket.start(api.url, { cookie: api.cookie('usr_ann') });
    socket.subscribe('1', 'subscription { appStatus(id: "app_b") { status name } }');
    await socket.next();
    socket.socket.pause();
    const changes = 300;
    for (let mark = 1; mark <= changes; mark++) {
      change(mark === changes ? 'active' : 'idle', mark);
      await new Promise(setImmediate);
    }
    socket.socket.resume();
    const isLast = () => JSON.stringify(socket.frames.at(-1)).includes(`x${changes}`);
    await eventually('the last state is there', isLast);
    // What the kernel holds is made; the rest is not.
    assert.ok(socket.frames.length < changes / 2, String(socket.frames.length));
    await socket.close();
  });

  it('is cut off when it asks on and on and reads nothing', async () => {
    const socket = await RawGraphqlSocket.start(api.url, { cookie: api.cookie('usr_ann') });
    socket.socket.pause();
    let isOver = false;
    void socket.closed.then(() => (isOver = true));
    const wrong = JSON.stringify({
      ...{ id: 'x'.repeat(128), type: 'subscribe' },
      payload: { query: `{ ${'a'.repeat(400)} }` },
    });
    await eventually('it is cut off', () => {
      for (let i = 0; i < 2_000 && !isOver; i++) socket.socket.send(wrong);
      return api.sockets.size === 0;
    });
    await socket.close();
  });
});

describe('the time of a connection of GraphQL over WebSocket', () => {
  it('ends with 4408 where nothing begins it', async () => {
    const clock = new ManualClock();
    const api = await startGraphql({ sockets: { clock, initMs: 5_000 } });
    try {
      const socket = await RawGraphqlSocket.open(api.url);
      await eventually('it is open', () => api.sockets.size === 1);
      const begun = await RawGraphqlSocket.start(api.url);
      await clock.advance(5_000);
      assert.equal((await socket.closed).code, 4408);
      assert.equal(api.sockets.size, 1);
      await begun.close();
    } finally {
      await api.close();
    }
  });

  it('goes on while the client gives signs of life, and ends when it gives none', async () => {
    const api = await startGraphql({ sockets: { idleS: 8 } });
    try {
      const alive = await RawGraphqlSocket.start(api.url);
      const mute = new WebSocket(api.url.replace('http', 'ws'), 'graphql-transport-ws', {
        autoPong: false,
      });
      let pings = 0;
      alive.socket.on('ping', () => (pings += 1));
      await new Promise((resolve) => mute.on('close', resolve));
      await eventually('pinged', () => pings > 0);
      assert.equal(api.sockets.size, 1);
      await alive.close();
    } finally {
      await api.close();
    }
  });
});

describe('the drain of GraphQL over WebSocket', () => {
  it('closes with 1001, answers what is under way, and says no complete', async () => {
    let release = (): void => undefined;
    const held = new Promise<void>((resolve) => (release = resolve));
    let isHeld = false;
    const audit = {
      during: async <T>(_request: AuditedRequest, work: () => T | Promise<T>): Promise<T> => {
        isHeld = true;
        await held;
        return work();
      },
    };
    const api = await startGraphql({ audit, gateway: { limits: { drainMs: 30_000 } } });
    const headers = { cookie: api.cookie('usr_ann') };
    const idle = await RawGraphqlSocket.start(api.url, headers);
    idle.subscribe('1', status, { id: 'app_1' });
    await idle.next();
    const busy = await RawGraphqlSocket.start(api.url, headers);
    busy.subscribe('1', 'mutation { createFolder(name: "late") { name } }');
    await eventually('the mutation is under way', () => isHeld);
    const fresh = await RawGraphqlSocket.open(api.url);
    const closing = api.close();
    assert.equal((await idle.closed).code, 1001);
    assert.equal((await fresh.closed).code, 1001);
    assert.equal(idle.frames.at(-1)?.type, 'next');
    assert.equal(api.sockets.size, 1);
    release();
    assert.deepEqual((await busy.next())?.payload, { data: { createFolder: { name: 'late' } } });
    assert.equal((await busy.next())?.type, 'complete');
    assert.equal((await busy.closed).code, 1001);
    await closing;
  });

  it('does not wait for ever', async () => {
    const audit = { during: () => new Promise<never>(() => undefined) };
    const api = await startGraphql({ audit, gateway: { limits: { drainMs: 50 } } });
    const socket = await RawGraphqlSocket.start(api.url, { cookie: api.cookie('usr_ann') });
    socket.subscribe('1', 'mutation { createFolder(name: "never") { name } }');
    await eventually('the mutation is under way', () => {
      return api.sockets.families()[1]?.samples[0]?.value === 1;
    });
    await api.close();
    assert.equal((await socket.closed).code, 1006);
    assert.ok(api.gateway.records.some(({ event }) => event === 'gateway_drain_cut'));
  });
});
