/** Clients of GraphQL over WebSocket that send garbage, hold what they can, and ask for what is others'. */
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import { put, remove } from '../../src/store/records/table.ts';
import { tables } from '../../src/store/records/tables.ts';
import { eventually } from '../support/eventually.ts';
import { appRecord } from '../support/graphql-fixture.ts';
import { type GraphqlGateway, startGraphql } from '../support/graphql-gateway.ts';
import { RawGraphqlSocket, RefusedHandshake } from '../support/graphql-socket.ts';
import { RawClient } from '../support/raw-http.ts';

const changes = 'subscription { teamChanges { kind id app { id name } } }';
const handshake = [
  'GET /api/graphql HTTP/1.1',
  'Host: a',
  'Connection: Upgrade',
  'Upgrade: websocket',
  'Sec-WebSocket-Version: 13',
  'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==',
  'Sec-WebSocket-Protocol: graphql-transport-ws',
  '\r\n',
].join('\r\n');

/** A frame of a client, masked with zeros. */
function frame(first: number, length: number, payload: Uint8Array): Buffer {
  const head = [first, 0x80 | (length < 126 ? length : 127)];
  const extended = Buffer.alloc(length < 126 ? 0 : 8);
  if (length >= 126) extended.writeBigUInt64BE(BigInt(length));
  return Buffer.concat([Buffer.from(head), extended, Buffer.alloc(4), payload]);
}

describe('GraphQL over WebSocket among hostile clients', () => {
  let api: GraphqlGateway;
  before(async () => {
    api = await startGraphql({ gateway: { limits: { maxSockets: 4_000 } } });
  });
  after(async () => {
    await api.close();
    const bugs = api.gateway.records.filter(({ level }) => level === 'error');
    assert.deepEqual(bugs, []);
  });

  const text = (value: string) => frame(0x81, Buffer.byteLength(value), Buffer.from(value));
  const isServed = async (): Promise<void> => {
    const socket = await RawGraphqlSocket.start(api.url, { cookie: api.cookie('usr_ann') });
    socket.subscribe('1', '{ me { id } }');
    assert.equal((await socket.next())?.type, 'next');
    await socket.close();
  };

  async function upgraded(): Promise<RawClient> {
    const client = new RawClient(api.gateway.port);
    client.write(handshake);
    await client.until(() => client.received.includes('\r\n\r\n'));
    assert.match(client.received, /^HTTP\/1\.1 101 /);
    return client;
  }

  it('closes whoever sends garbage, in frames and without, and serves the others', async () => {
    const garbage: Uint8Array[] = [
      randomBytes(4_096),
      Buffer.alloc(4_096, 0xff),
      // Lengths that nothing follows, of 2^63 and of all bits.
      frame(0x81, 2 ** 40, Buffer.alloc(10)),
      Buffer.from([0x81, 0xff, 255, 255, 255, 255, 255, 255, 255, 255, 0, 0, 0, 0]),
      // Without a mask; reserved bits; an unknown opcode; a long and a split control frame.
      Buffer.from([0x81, 0x02, 0x7b, 0x7d]),
      frame(0xf1, 2, Buffer.from('{}')),
      frame(0x83, 2, Buffer.from('{}')),
      frame(0x89, 126, Buffer.alloc(126)),
      frame(0x09, 2, Buffer.from('{}')),
      // What goes on where nothing began, and what is no UTF-8.
      frame(0x80, 2, Buffer.from('{}')),
      frame(0x81, 2, Buffer.from([0xc3, 0x28])),
      frame(0x88, 1, Buffer.from([3])),
      text('['.repeat(60_000)),
      text(
        `{"type":"subscribe","id":"1","payload":${'{"a":'.repeat(10_000)}1${'}'.repeat(10_000)}}`,
      ),
      text('{"__proto__":{"type":"ping"},"type":"subscribe"}'),
    ];
    const beginnings = new Set([0, 2, 3, 4]);
    for (const [index, bytes] of garbage.entries()) {
      const client = await upgraded();
      client.write(bytes);
      // What may be the beginning of a frame is ended by the time that a connection has.
      if (beginnings.has(index)) client.socket.destroy();
      await client.closed();
      client.socket.destroy();
    }
    await isServed();
    await eventually('all are gone', () => api.sockets.size === 0);
  });

  it('cuts frames at every byte, and understands them all the same', async () => {
    const client = await upgraded();
    for (const byte of text('{"type":"connection_init"}')) {
      client.write(Buffer.from([byte]));
      await new Promise(setImmediate);
    }
    await client.until(() => client.received.includes('connection_ack'));
    client.socket.destroy();
  });

  it('gives one network so many connections, and everybody else theirs', async () => {
    const attempts = Array.from({ length: 1_000 }, () => RawGraphqlSocket.open(api.url));
    const settled = await Promise.allSettled(attempts);
    const open = settled.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []));
    assert.equal(open.length, 256);
    for (const one of settled) {
      if (one.status === 'rejected') assert.deepEqual(one.reason, new RefusedHandshake(429));
    }
    // Each holds as much of a message as it may.
    const piece = 'x'.repeat(120 * 1_024);
    for (const { socket } of open) socket.send(piece, { fin: false });
    assert.equal((await fetch(api.url, { headers: { accept: 'text/html' } })).status < 500, true);
    for (const one of open) one.send({ type: 'connection_init' });
    await Promise.all(open.map((one) => one.close()));
    await eventually('all are gone', () => api.sockets.size === 0);
    await isServed();
  });

  it('ends all subscriptions of a session with it', async () => {
    const known = new Set([...api.fixture.accounts.store.scan(tables.auth)].map(({ id }) => id));
    const cookie = api.cookie('usr_ann');
    const session = [...api.fixture.accounts.store.scan(tables.auth)].find(
      ({ id, model }) => model === 'session' && !known.has(id),
    );
    const sockets = await Promise.all(
      Array.from({ length: 10 }, () => RawGraphqlSocket.start(api.url, { cookie })),
    );
    for (const socket of sockets) {
      for (let i = 0; i < 20; i++) socket.subscribe(String(i), changes);
    }
    await eventually('all run', () => sockets.every(({ frames }) => frames.length === 21));
    api.fixture.accounts.store.write([
      remove(tables.auth, ['session', session!.id]),
      put(tables.apps, appRecord('app_secret', 'team_a')),
    ]);
    const codes = await Promise.all(sockets.map(async (one) => (await one.closed).code));
    assert.deepEqual(new Set(codes), new Set([4401]));
    const said = JSON.stringify(sockets.map(({ frames }) => frames));
    assert.ok(!said.includes('app_secret'), 'Nothing is told after the session has ended.');
    await isServed();
  });

  it('tells a token of another team nothing of a team, whatever team it names', async () => {
    const authorization = `Bearer ${
      api.fixture.accounts.addToken('tok_bob', 'usr_bob', 'team_b', { teamIds: ['team_b'] }).secret
    }`;
    const foreign = await RawGraphqlSocket.open(api.url);
    foreign.send({ type: 'connection_init', payload: { authorization, team: 'team_a' } });
    assert.equal((await foreign.closed).code, 4403);
    const own = await RawGraphqlSocket.start(api.url, {}, { authorization });
    own.subscribe('1', changes);
    own.subscribe('2', 'subscription { appStatus(id: "app_1") { id name } }');
    await own.next();
    api.fixture.accounts.store.write([
      put(tables.apps, appRecord('app_1', 'team_a', { name: 'secret' })),
      put(tables.apps, appRecord('app_x', 'team_b')),
    ]);
    await eventually('its own is told', () => JSON.stringify(own.frames).includes('app_x'));
    assert.ok(!JSON.stringify(own.frames).includes('secret'));
    assert.ok(!JSON.stringify(own.frames).includes('"app_1"'));
    await own.close();
  });
});
