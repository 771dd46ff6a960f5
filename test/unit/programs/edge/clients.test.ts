import assert from 'node:assert/strict';
import net from 'node:net';
import type { Socket } from 'node:net';
import { describe, it } from 'node:test';

import { Clients } from '../../../../src/programs/edge/clients.ts';
import { ManualClock, settle } from '../../../support/manual-clock.ts';
import { memoryLogger } from '../../../support/memory-logger.ts';

/** Of which nothing is to be seen. */
const pace = { atOnce: 1000, everyMs: 1 };
const many = { connections: 1000, waiting: 1000, pace };

function from(remoteAddress: string): Socket {
  return Object.defineProperty(new net.Socket(), 'remoteAddress', { value: remoteAddress });
}

describe('Clients', () => {
  const logger = memoryLogger();
  const make = (connectionsMax = 100): Clients =>
    new Clients({
      clock: new ManualClock(),
      logger,
      connectionsMax,
      each: { connections: 4, waiting: 2, pace },
      near: { connections: 8, waiting: 6, pace },
    });
  const inside = new WeakSet<Socket>();
  const admit = (clients: Clients, socket: Socket): boolean =>
    clients.admit(socket, () => inside.add(socket));
  const admitAll = (clients: Clients, addresses: readonly string[]): Socket[] =>
    addresses.map((address) => {
      const socket = from(address);
      assert.ok(admit(clients, socket));
      return socket;
    });
  const ends = (sockets: readonly Socket[]): boolean[] => sockets.map(({ destroyed }) => destroyed);

  it('closes what a client lets wait for longest, and nothing of others', () => {
    const clients = make();
    const others = admitAll(clients, ['192.0.2.9', '192.0.2.9', '192.0.2.10']);
    const own = admitAll(clients, ['192.0.2.1', '192.0.2.1', '::ffff:192.0.2.1', '192.0.2.1']);
    assert.deepEqual(ends(own), [true, true, false, false]);
    assert.deepEqual(ends(others), [false, false, false]);
  });

  it('counts an IPv6 /64 as one client, and all of loopback', () => {
    const clients = make();
    const own = admitAll(clients, ['2001:db8::1', '2001:db8::2', '2001:db8::3', '2001:db8:0:1::1']);
    assert.deepEqual(ends(own), [true, false, false, false]);
    const loopback = admitAll(
      clients,
      ['127.0.0.1', '127.0.0.2', '::1', '127.9.9.9', '::ffff:127.0.0.1'].concat('::1', '::1'),
    );
    assert.deepEqual(ends(loopback), [true, ...Array<boolean>(6).fill(false)]);
  });

  it('refuses a client whose connections are all at work, and forgets what is over', () => {
    const clients = make();
    const at = '192.0.2.1';
    const over = [1, 2, 3, 4].map(() => {
      const [socket] = admitAll(clients, [at]);
      return clients.begin(socket ?? from(at));
    });
    assert.equal(admit(clients, from(at)), false);
    assert.ok(admit(clients, from('192.0.2.2')));
    over[0]?.();
    assert.ok(admit(clients, from(at)));
  });

  it('lets a connection wait only when none of its requests is under way', () => {
    const clients = make();
    const [busy, idle] = admitAll(clients, ['192.0.2.1', '192.0.2.1']);
    assert.ok(busy && idle);
    const [first, second] = [clients.begin(busy), clients.begin(busy)];
    first();
    admitAll(clients, ['192.0.2.1', '192.0.2.1']);
    assert.deepEqual(ends([busy, idle]), [false, true]);
    second();
    admitAll(clients, ['192.0.2.1']);
    assert.deepEqual(ends([busy, idle]), [false, true]);
    admitAll(clients, ['192.0.2.1', '192.0.2.1']);
    assert.equal(busy.destroyed, true);
  });

  it('reads no more connections of a client whose heads come all at once, but some in each turn', async () => {
    const clients = new Clients({ clock: new ManualClock(), logger, each: many });
    const own = admitAll(clients, Array<string>(100).fill('192.0.2.1'));
    const others = admitAll(clients, Array<string>(100).fill('192.0.2.2'));
    const unread = (sockets: readonly Socket[]): number =>
      sockets.filter((socket) => socket.isPaused()).length;
    for (const socket of own.slice(0, 63)) clients.begin(socket);
    assert.equal(unread(own), 0);
    for (const socket of own.slice(63, 64)) clients.begin(socket);
    assert.deepEqual([unread(own), unread(own.slice(0, 64)), unread(others)], [36, 0, 0]);
    own.at(-1)?.emit('close');
    for (const left of [20, 4, 0]) {
      await new Promise(setImmediate);
      assert.equal(unread(own.slice(0, -1)), Math.max(left - 1, 0));
    }
  });

  it('lets new connections of a client in at a pace, and leaves out those that are gone', async () => {
    const clock = new ManualClock();
    const each = { ...many, pace: { atOnce: 3, everyMs: 10 } };
    const clients = new Clients({ clock, logger, each });
    const own = admitAll(clients, Array<string>(7).fill('192.0.2.1'));
    const others = admitAll(clients, Array<string>(3).fill('192.0.2.2'));
    const areIn = (): string => own.map((socket) => (inside.has(socket) ? 'i' : '-')).join('');
    assert.equal(areIn(), 'iii----');
    assert.ok(others.every((socket) => inside.has(socket)));
    own[3]?.emit('close');
    await clock.advance(12);
    assert.equal(areIn(), 'iii-i--');
    await clock.advance(20);
    assert.equal(areIn(), 'iii-iii');
    // What it has not used it may use again, but no more than that.
    await clock.advance(1000);
    own.push(...admitAll(clients, Array<string>(4).fill('192.0.2.1')));
    assert.equal(areIn(), 'iii-iiiiii-');
  });

  it('does not let in what waits at the door because other connections are read again', async () => {
    const each = { ...many, pace: { atOnce: 100, everyMs: 1000 } };
    const clients = new Clients({ clock: new ManualClock(), logger, each });
    const own = admitAll(clients, Array<string>(101).fill('192.0.2.1'));
    for (const socket of own.slice(0, 64)) clients.begin(socket);
    for (let turn = 0; turn < 2; turn++) await settle();
    assert.deepEqual(
      own.flatMap((socket, at) => (socket.isPaused() || !inside.has(socket) ? [at] : [])),
      [100],
    );
    assert.equal(own[100]?.isPaused(), false);
  });

  it('counts heads by the turn', async () => {
    const clients = new Clients({ clock: new ManualClock(), logger, each: many });
    const own = admitAll(clients, Array<string>(200).fill('192.0.2.1'));
    for (const from of [0, 60, 120]) {
      for (const socket of own.slice(from, from + 60)) clients.begin(socket);
      await new Promise(setImmediate);
    }
    assert.ok(own.every((socket) => !socket.isPaused()));
  });

  it('makes room among all clients, and refuses where none waits', () => {
    const clients = make(3);
    const sockets = admitAll(clients, ['192.0.2.1', '192.0.2.2', '192.0.2.3', '192.0.2.4']);
    assert.deepEqual(ends(sockets), [true, false, false, false]);
    for (const socket of sockets.slice(1)) clients.begin(socket);
    assert.equal(admit(clients, from('192.0.2.5')), false);
    sockets[1]?.emit('close');
    assert.ok(admit(clients, from('192.0.2.5')));
  });

  it('gives a trusted proxy the bounds of many, and says whom it holds back', () => {
    const clients = make();
    clients.trust(['192.0.2.0/24']);
    const sockets = admitAll(clients, Array<string>(6).fill('192.0.2.1'));
    assert.ok(!ends(sockets).includes(true));
    logger.events.length = 0;
    admitAll(clients, Array<string>(3).fill('192.0.2.1'));
    assert.deepEqual(
      logger.events.map(({ event, fields }) => [event, fields]),
      [['edge_client_bounded', { client: '192.0.2.1', connections: 6 }]],
    );
  });
});
