import assert from 'node:assert/strict';
import { once } from 'node:events';
import net from 'node:net';
import os from 'node:os';
import { it } from 'node:test';
import { HeldPorts } from '../../../../src/lib/processes/held-ports.ts';
import { eventually } from '../../../support/eventually.ts';
import { freePort } from '../../../support/ports.ts';

/** The code of the failure, or nothing once it listens; it is closed then. */
function listens(port: number, host: string): Promise<string | undefined> {
  return new Promise((resolve) => {
    const server = net.createServer();
    server.once('error', (error: NodeJS.ErrnoException) => {
      resolve(error.code);
    });
    server.listen({ port, host, exclusive: true }, () => {
      server.close(() => {
        resolve(undefined);
      });
    });
  });
}

it('HeldPorts keeps others from a port, at once and on every address', async () => {
  const ports = new HeldPorts();
  const port = await freePort();
  const held = ports.hold(port);
  for (const host of ['127.0.0.1', '0.0.0.0', '127.0.0.2']) {
    assert.equal(await listens(port, host), 'EADDRINUSE', host);
  }
  assert.ok(await held);
  const visitor = net.connect(port, '127.0.0.1');
  visitor.on('error', () => undefined);
  await new Promise((resolve) => visitor.once('close', resolve));
  ports.letGo(port);
  assert.equal(ports.has(port), false);
  assert.equal(await listens(port, '127.0.0.1'), undefined);
});

it('HeldPorts says when somebody else has the port, and holds what is left of it', async (t) => {
  const ports = new HeldPorts();
  const port = await freePort();
  const other = net.createServer().listen(port, '127.0.0.2');
  t.after(() => other.close());
  await once(other, 'listening');
  assert.ok(await ports.hold(port));
  assert.equal(await listens(port, '127.0.0.1'), 'EADDRINUSE');
  ports.letGo(port);
  const taker = net.createServer().listen(port, '127.0.0.1');
  t.after(() => taker.close());
  await once(taker, 'listening');
  assert.equal(await ports.hold(port), false);
  assert.equal(ports.has(port), false);
});

it('HeldPorts leads who comes from this machine to where the owner listens, and no browser', async (t) => {
  let heard = '';
  const owner = net.createServer({ allowHalfOpen: true }, (socket) => {
    let text = '';
    socket.on('data', (more: Buffer) => (text += more.toString()));
    socket.on('data', (more: Buffer) => (heard += more.toString()));
    socket.on('error', () => undefined);
    socket.on('end', () => socket.end(`heard ${text}`));
  });
  owner.listen(0, '127.0.0.2');
  t.after(() => owner.close());
  await once(owner, 'listening');
  const places: { host: string; port: number }[] = [];
  const ports = new HeldPorts(() => places[0] && { to: places[0], lets: null });
  const port = await freePort();
  assert.ok(await ports.hold(port));
  t.after(() => {
    ports.letGo(port);
  });
  const ask = (host: string, question = 'rows'): Promise<string> =>
    new Promise((resolve) => {
      const socket = net.connect({ port, host, allowHalfOpen: true });
      let text = '';
      socket.on('data', (more: Buffer) => (text += more.toString()));
      socket.on('error', () => undefined);
      socket.once('close', () => {
        resolve(text);
      });
      socket.once('end', () => socket.end());
      socket.end(question);
    });
  assert.equal(await ask('127.0.0.1'), '');
  places.push({ host: '127.0.0.2', port: (owner.address() as net.AddressInfo).port });
  assert.equal(await ask('127.0.0.1'), 'heard rows');
  for (const method of ['GET', 'POST', 'OPTIONS']) {
    assert.equal(await ask('127.0.0.1', `${method} / HTTP/1.1\r\nCookie: secret\r\n\r\n`), '');
  }
  assert.equal(await ask('127.0.0.1', 'GET key\r\n'), 'heard GET key\r\n');
  assert.doesNotMatch(heard, /HTTP/);
  const [own] = Object.values(os.networkInterfaces())
    .flatMap((all) => all ?? [])
    .filter(({ family, internal }) => family === 'IPv4' && !internal);
  if (own !== undefined) assert.equal(await ask(own.address), '');
});

it('HeldPorts gives no place of those who are let in to others', async (t) => {
  const owner = net.createServer((socket) => socket.on('error', () => undefined));
  let came = 0;
  owner.on('connection', () => came++);
  owner.listen(0, '127.0.0.2');
  t.after(() => owner.close());
  await once(owner, 'listening');
  const to = { host: '127.0.0.2', port: (owner.address() as net.AddressInfo).port };
  const friends = new Set<number | undefined>();
  const lets = (client: net.Socket): Promise<boolean> =>
    Promise.resolve(friends.has(client.remotePort));
  const ports = new HeldPorts(() => ({ to, lets }));
  const port = await freePort();
  assert.ok(await ports.hold(port));
  const open: net.Socket[] = [];
  t.after(() => {
    for (const socket of open) socket.destroy();
    ports.letGo(port);
  });
  const strangers = Array.from({ length: 600 }, () => net.connect(port, '127.0.0.1'));
  await Promise.all(
    strangers.map((socket) => {
      socket.on('error', () => undefined);
      return new Promise((resolve) => socket.once('close', resolve));
    }),
  );
  assert.equal(came, 0);
  const localPort = await freePort();
  friends.add(localPort);
  open.push(net.connect({ port, host: '127.0.0.1', localPort }));
  await eventually('the friend is there', () => came === 1);
});
