/** Apps that answer what is no answer. Only their own visitors may notice. */
import assert from 'node:assert/strict';
import fs from 'node:fs';
import http from 'node:http';
import net from 'node:net';
import type { AddressInfo, Socket } from 'node:net';
import path from 'node:path';
import { afterEach, beforeEach, describe, it } from 'node:test';

import { runnerStateDir } from '../../src/protocol/runner-version.ts';
import { js, specOf, until } from '../support/driver-specs.ts';
import { EdgePlace } from '../support/edge-place.ts';
import { freePort } from '../support/ports.ts';
import { processPlace, runnerPid } from '../support/runner.ts';

const body = 'Content-Length: 2\r\n\r\nhi';
const impassable: Readonly<Record<string, string>> = {
  'a control character in its reason': `HTTP/1.1 200 \x01\r\n${body}`,
  'DEL in its reason': `HTTP/1.1 200 O\x7fK\r\n${body}`,
  'status 099': `HTTP/1.1 099 x\r\n${body}`,
  'status 000': `HTTP/1.1 000 x\r\n${body}`,
  'status 1000': `HTTP/1.1 1000 x\r\n${body}`,
  'a negative status': `HTTP/1.1 -20 x\r\n${body}`,
  'a control character in a header': `HTTP/1.1 200 OK\r\nX: a\x01b\r\n${body}`,
  'a control character in the name of a header': `HTTP/1.1 200 OK\r\nX\x02: a\r\n${body}`,
  'a line feed alone': `HTTP/1.1 200 OK\r\nX: a\nY: b\r\n${body}`,
  '101 without being asked': `HTTP/1.1 101 Switching Protocols\r\n\r\n`,
  'two lengths': `HTTP/1.1 200 OK\r\nContent-Length: 3\r\n${body}`,
  'a length and chunks': `HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n${body}`,
  'a coding that nobody can frame': `HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\nhi`,
  'a head that does not end': `HTTP/1.1 200 OK\r\n${'X: y\r\n'.repeat(20_000)}`,
  'no HTTP at all': 'SSH-2.0-OpenSSH_9.2\r\n\r\n',
};

describe('an edge before an app that answers anything', () => {
  let place: EdgePlace;
  let open: Set<Socket>;
  let servers: net.Server[];
  beforeEach(async () => {
    place = await new EdgePlace().open();
    open = new Set();
    servers = [];
  });
  afterEach(async () => {
    await place.close();
    for (const socket of open) socket.destroy();
    for (const server of servers) server.close();
  });

  /** Sends `a.localhost` to what does this with each connection, and `b.localhost` to a decent app. */
  async function attack(take: (socket: Socket) => void): Promise<void> {
    const server = net.createServer((socket) => {
      open.add(socket);
      socket.on('error', () => undefined);
      take(socket);
    });
    servers.push(server);
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port: other } = await place.app((_req, res) => res.end('quiet'));
    const { port } = server.address() as AddressInfo;
    place.edge.setRoutes([
      { host: 'a.localhost', targets: [{ host: '127.0.0.1', port }] },
      { host: 'b.localhost', targets: [{ host: '127.0.0.1', port: other }] },
    ]);
  }

  const answering = (text: string) => (socket: Socket) =>
    socket.once('data', () => socket.write(text, 'latin1'));

  async function assertOthersAreServed(): Promise<void> {
    const answer = await place.ask({ headers: { host: 'b.localhost' } });
    assert.deepEqual([answer.status, answer.body], [200, 'quiet']);
  }

  for (const [what, text] of Object.entries(impassable)) {
    it(`answers 502 for ${what}`, async () => {
      await attack(answering(text));
      const answer = await place.ask();
      assert.equal(answer.status, 502);
      assert.match(answer.body, /does not answer/);
      assert.equal((await place.ask({ method: 'POST' }, 'x')).status, 502);
      await assertOthersAreServed();
    });

    it(`answers 502 to a WebSocket for ${what}`, async () => {
      await attack(answering(text));
      const upgrade =
        'GET / HTTP/1.1\r\nHost: a.localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n';
      assert.match(await place.raw(upgrade), /^HTTP\/1\.1 502 .*does not answer/s);
      await assertOthersAreServed();
    });
  }

  it('answers 502 for another protocol that nobody asked for', async () => {
    await attack(
      answering('HTTP/1.1 101 Switching\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\nmore'),
    );
    assert.equal((await place.ask()).status, 502);
    await assertOthersAreServed();
  });

  it('answers 502 for interim answers without end', async () => {
    await attack((socket) => {
      const more = (): void => {
        if (!socket.destroyed) socket.write('HTTP/1.1 100 Continue\r\n\r\n'.repeat(50), more);
      };
      socket.once('data', more);
    });
    assert.equal((await place.ask()).status, 502);
    await assertOthersAreServed();
  });

  it('waits for the answer behind some interim ones', async () => {
    const interim = 'HTTP/1.1 103 Early Hints\r\nLink: </a.css>\r\n\r\n'.repeat(5);
    await attack(answering(`${interim}HTTP/1.1 200 OK\r\n${body}`));
    assert.equal((await place.ask()).body, 'hi');
  });

  it('passes on what announces trailers that never come', async () => {
    await attack(answering(`HTTP/1.1 200 OK\r\nTrailer: x-sum\r\n${body}`));
    const answer = await place.ask();
    assert.deepEqual([answer.body, answer.headers.trailer], ['hi', undefined]);
  });

  it('gives a visitor one answer where two come', async () => {
    await attack(answering(`HTTP/1.1 200 OK\r\n${body}HTTP/1.1 200 \x01\r\n${body}`));
    const answer = await place.ask();
    assert.deepEqual([answer.status, answer.body], [200, 'hi']);
    await assertOthersAreServed();
  });

  it('takes an answer that comes ahead of the request', async () => {
    await attack((socket) =>
      socket.resume().write(`HTTP/1.1 200 OK\r\nConnection: close\r\n${body}`),
    );
    const { status } = await place.ask();
    assert.ok(status === 200 || status === 502);
    assert.ok([200, 502].includes((await place.ask({ method: 'POST' }, 'x'.repeat(1e6))).status));
    await assertOthersAreServed();
  });

  it('closes the connection where the answer breaks off', async () => {
    await attack(answering('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n\x01'));
    const told = await place.ask().then(
      ({ status }) => status,
      (error: unknown) => (error as NodeJS.ErrnoException).code,
    );
    assert.ok(told === 502 || told === 'ECONNRESET', String(told));
    await assertOthersAreServed();
  });
});

it('a runner takes no notice of an app that answers anything', async (t) => {
  const edge = { host: '127.0.0.1', port: await freePort() };
  const place = processPlace({ edge });
  t.after(() => place.close());
  const port = await freePort();
  const answers = ['HTTP/1.1 200 \x01', 'HTTP/1.1 099 x', 'HTTP/1.1 000 x'];
  const app = `let n = 0; const answers = ${JSON.stringify(answers)};
    require('net').createServer((socket) => socket.on('error', () => {}).once('data', () =>
      socket.end(answers[n++ % answers.length] + '\\r\\n\\r\\n', 'latin1'))).listen(${String(port)})`;
  await place.driver.start(specOf({ id: 'hostile-1', kind: 'service', command: js(app), port }));
  await until('the app', async () => (await place.driver.probe('hostile-1')) === 'listening');
  await place.driver.setRoutes([{ host: 'a.localhost', targets: [{ host: '127.0.0.1', port }] }]);
  const pid = await runnerPid(place.dataDir);
  for (let asks = 1; asks <= answers.length; asks++) {
    const status = await new Promise((resolve, reject) => {
      const asked = http.get({ ...edge, agent: false, headers: { host: 'a.localhost' } });
      asked.once('response', (answer) => {
        resolve(answer.resume().statusCode);
      });
      asked.once('error', reject);
    });
    assert.equal(status, 502);
  }
  assert.equal(await runnerPid(place.dataDir), pid);
  const log = fs.readFileSync(path.join(place.dataDir, runnerStateDir, 'runner.log'), 'utf8');
  assert.doesNotMatch(log, /not_caught|not_handled/);
});
