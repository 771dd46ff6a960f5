/** An app that asks for whatever it can reach over the network. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import http from 'node:http';
import net from 'node:net';
import os from 'node:os';
import { before, describe, it } from 'node:test';

import type { Driver } from '../../src/drivers/driver.ts';
import { cleanups } from '../support/cleanups.ts';
import { js, readSome, textOf, until } from '../support/driver-specs.ts';
import { freePort } from '../support/ports.ts';
import { needs } from '../support/programs.ts';
import { type ProcessPlace, processPlace } from '../support/runner.ts';

const [victimUid, databaseUid, friendUid, hostileUid, falseUid] = [
  216_101, 216_102, 216_103, 216_104, 216_105,
];
const [teamA, teamB] = ['team_a', 'team_b'];

/** Asks at every place, again and again, and says who answered what. */
const asking = (places: readonly string[]): string => `
  const net = require('net');
  const ask = (place) => new Promise((resolve) => {
    const at = place.startsWith('@') ? { path: '\\0' + place.slice(1) }
      : { host: place.slice(0, place.lastIndexOf(':')), port: Number(place.slice(place.lastIndexOf(':') + 1)) };
    let text = '';
    const socket = net.connect(at, () => socket.write('GET / HTTP/1.0\\r\\n\\r\\n'));
    socket.setTimeout(3000, () => socket.destroy());
    socket.on('data', (more) => (text += more));
    socket.on('error', () => undefined);
    socket.on('close', () => resolve(text.split('\\n').pop().trim()));
  });
  const places = ${JSON.stringify(places)};
  (async () => {
    for (let round = 0; ; round++) {
      for (const place of places) console.log(place + ' said ' + (await ask(place)));
      console.log('round ' + round);
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  })();`;

/** Answers on its port, at this address of its own. */
const answering = (host: string, text: string): readonly string[] =>
  js(`require('http').createServer((q, s) => s.end(${JSON.stringify(text)} + ' to ' + q.socket.remoteAddress))
    .listen(Number(process.env.PORT), ${JSON.stringify(host)})`);

/** Is no web server, and answers whatever it is asked, as a database would. */
const answeringPlainly =
  js(`require('net').createServer((socket) => socket.on('error', () => undefined)
    .once('data', () => socket.end('rows to ' + socket.remoteAddress)))
    .listen(Number(process.env.PORT), '127.0.0.1')`);

/** What it says; empty when it says nothing. */
function query(port: number): Promise<string> {
  return new Promise((resolve) => {
    const socket = net.connect(port, '127.0.0.1', () => socket.write('rows?\n'));
    let text = '';
    socket.setEncoding('utf8').on('data', (more: string) => (text += more));
    socket.on('error', () => undefined);
    socket.once('close', () => {
      resolve(text);
    });
  });
}

/** What a web server of the machine says; empty when it says nothing. */
function visit(host: string, port: number, name = 'localhost'): Promise<string> {
  return new Promise((resolve) => {
    const asked = http.get({ host, port, headers: { host: name }, agent: false }, (answer) => {
      let text = '';
      answer.setEncoding('utf8').on('data', (more: string) => (text += more));
      answer.once('close', () => {
        resolve(text);
      });
    });
    asked.once('error', () => {
      resolve('');
    });
  });
}

function machineAddress(): string {
  const [own] = Object.values(os.networkInterfaces())
    .flatMap((all) => all ?? [])
    .filter(
      ({ family, address }) => family === 'IPv4' && !/^(127|10\.213|169\.254)\./.test(address),
    );
  return own?.address ?? '127.0.0.1';
}

const missing = needs('root', 'ip', 'iptables', 'unshare', 'nsenter');

describe('an app that asks for what is others’', { skip: missing }, () => {
  const cleanup = cleanups();
  let place: ProcessPlace;
  let driver: Driver;
  let edgePort: number;
  const ports: Record<string, number> = {};

  const start = async (
    id: string,
    team: string,
    uid: number,
    command: readonly string[],
    more: { keepsPort?: true } = {},
  ): Promise<string> => {
    const port = (ports[id] ??= await driver.freePort());
    const owner = `app_${id}`;
    const env = { PORT: String(port) };
    const own = { id, owner, team, uid, command, port, env, kind: 'service' as const };
    const { address } = await driver.start(place.specOf({ ...own, stopGraceMs: 200, ...more }));
    return address?.host ?? '127.0.0.1';
  };
  const listens = (id: string): Promise<unknown> =>
    until(`${id} listens`, async () => (await driver.probe(id)) === 'listening');
  /** What the app heard at each place, once it has asked everywhere. */
  const heardBy = async (id: string): Promise<Map<string, string>> => {
    let text = '';
    await until(`${id} has asked`, async () => {
      text = textOf(await readSome(driver, id));
      return /^round [1-9]/m.test(text);
    });
    const lines = [...text.matchAll(/^(\S+) said (.*)$/gm)];
    return new Map(lines.map(([, at = '', said = '']) => [at, said]));
  };

  before(async () => {
    edgePort = await freePort();
    place = processPlace({ edge: { host: '127.0.0.1', port: edgePort } });
    cleanup(() => place.close());
    driver = place.driver;
    await start('victim', teamA, victimUid, answering('0.0.0.0', 'victim'));
    await start('database', teamA, databaseUid, answeringPlainly, { keepsPort: true });
    for (const id of ['victim', 'database']) await listens(id);
  });

  it('is in a network of its own', async () => {
    const layers = (await driver.isolation?.()) ?? [];
    const network = layers.find(({ layer }) => layer === 'network');
    assert.deepEqual(network, { layer: 'network', missing: null });
  });

  it('hears nothing from other apps, other teams’ databases, the machine’s loopback, or sockets without a file', async () => {
    const own = machineAddress();
    const peers: string[] = [];
    const machine = http.createServer((req, res) => {
      peers.push(req.socket.remoteAddress ?? '');
      res.end('machine');
    });
    const inside = http.createServer((_req, res) => res.end('inside'));
    const abstract = `gangway-test-${String(process.pid)}`;
    const nameless = net.createServer((socket) => socket.end('nameless'));
    const listening = async (server: net.Server, at: net.ListenOptions): Promise<void> => {
      await once(server.listen(at), 'listening');
      cleanup(() => server.close());
    };
    await listening(machine, { port: 0, host: '0.0.0.0' });
    await listening(inside, { port: 0, host: '127.0.0.1' });
    await listening(nameless, { path: `\0${abstract}` });
    const portOf = (server: net.Server): number => (server.address() as net.AddressInfo).port;
    const victim = (await driver.inspect('victim'))?.address?.host ?? '';
    const database = (await driver.inspect('database'))?.address?.host ?? '';
    const addresses = ['127.0.0.1', '::1', '10.213.255.1', own, victim, database];
    const wanted = [ports['victim'], ports['database'], edgePort, portOf(inside)];
    const places = addresses.flatMap((host) => wanted.map((port) => `${host}:${String(port)}`));
    places.push(
      ...['127.0.0.1', '10.213.255.1'].map((host) => `${host}:${String(portOf(machine))}`),
      `${own}:${String(portOf(machine))}`,
      '169.254.169.254:80',
      `@${abstract}`,
    );
    await start('hostile', teamB, hostileUid, js(asking(places)));
    const heard = await heardBy('hostile');
    assert.deepEqual(
      [...heard].filter(([, said]) => said !== ''),
      // What everybody on the network of the machine reaches.
      [[`${own}:${String(portOf(machine))}`, 'machine']],
    );
    // It is seen there under its own address, which is not loopback's.
    const address = (await driver.inspect('hostile'))?.address?.host;
    assert.deepEqual([...new Set(peers)], [address]);
    assert.match(address ?? '', /^10\.213\./);
    // Others are served meanwhile.
    assert.match(await query(ports['database'] ?? 0), /^rows to /);
  });

  it('does not get in the way of a team, whose apps reach its databases where they always did', async () => {
    const at = `127.0.0.1:${String(ports['database'])}`;
    await start('friend', teamA, friendUid, js(asking([at])));
    const friend = (await driver.inspect('friend'))?.address?.host ?? '';
    assert.equal((await heardBy('friend')).get(at), `rows to ${friend}`);
    const target = { host: '127.0.0.1', port: ports['victim'] ?? 0, workload: 'victim' };
    await driver.setRoutes([{ host: 'a.localhost', targets: [target] }]);
    assert.match(await visit('127.0.0.1', edgePort, 'a.localhost'), /^victim to /);
  });

  it('cannot take the port of a database on the machine, also while that does not run', async () => {
    const port = ports['database'] ?? 0;
    const taken = async (): Promise<string | undefined> => {
      const server = net.createServer().listen({ port, host: '127.0.0.1', exclusive: true });
      const [error] = (await Promise.race([
        once(server, 'listening').then(() => []),
        new Promise((resolve) => server.once('error', (one) => resolve([one]))),
      ])) as [NodeJS.ErrnoException?];
      server.close();
      return error?.code;
    };
    assert.equal(await taken(), 'EADDRINUSE');
    await driver.stop('database');
    assert.equal(await taken(), 'EADDRINUSE');
    assert.equal(await query(port), '');
    await driver.remove('database');
    assert.equal(await taken(), 'EADDRINUSE');
    await start('database', teamA, databaseUid, answeringPlainly, { keepsPort: true });
    await listens('database');
    assert.match(await query(port), /^rows to /);
  });

  it('gets no browser by the port of a database, whatever it makes of that', async () => {
    await start('false', teamB, falseUid, answering('127.0.0.1', 'stolen'), { keepsPort: true });
    await listens('false');
    assert.equal(await visit('127.0.0.1', ports['false'] ?? 0), '');
    // Only whoever speaks like a browser is cut off.
    assert.match(await query(ports['false'] ?? 0), /400 Bad Request/);
  });

  it('reaches no more when the runner has died, and all others are back', async () => {
    await place.killRunner();
    const port = ports['database'] ?? 0;
    await until('the database is back', async () => {
      return (await query(port)).startsWith('rows to ');
    });
    await until('the app is back', async () => {
      return (await visit('127.0.0.1', edgePort, 'a.localhost')).startsWith('victim to ');
    });
    const victim = (await driver.inspect('victim'))?.address?.host ?? '';
    const at = [`127.0.0.1:${String(port)}`, `${victim}:${String(ports['victim'])}`];
    await driver.remove('hostile');
    await start('hostile-2', teamB, hostileUid, js(asking(at)));
    assert.deepEqual([...new Set((await heardBy('hostile-2')).values())], ['']);
  });
});
