import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import net, { type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { it, type TestContext } from 'node:test';

import {
  AppConnection,
  type AppEvents,
} from '../../../../../src/programs/edge/http1/app-connection.ts';
import { Watch } from '../../../../../src/programs/edge/watch.ts';
import { eventually } from '../../../../support/eventually.ts';
import { ManualClock } from '../../../../support/manual-clock.ts';

const [heads, headBytes] = [90, 10_000];

/** A connection to an app that does this, and what is written to it. */
async function opened(
  t: TestContext,
  app: (socket: net.Socket) => void,
  released = nothing,
  path?: string,
) {
  const server = net.createServer((socket) => app(socket.on('error', nothing)));
  t.after(() => server.close());
  await once(path === undefined ? server.listen(0, '127.0.0.1') : server.listen(path), 'listening');
  const clock = new ManualClock();
  const watch = new Watch(clock);
  t.after(() => watch.close());
  const address =
    path === undefined
      ? { host: '127.0.0.1', port: (server.address() as AddressInfo).port }
      : { path };
  const connection = await AppConnection.open(address, watch, released);
  t.after(() => connection.destroy());
  return { connection, clock };
}

const nothing = (): void => undefined;
const deaf: AppEvents = {
  ...{ isHead: false, mayUpgrade: false, holdsBytes: false },
  ...{ answerInterim: nothing, answerHead: nothing, answerBytes: nothing, appDrained: nothing },
  ...{ answerFlush: () => true, answerEnd: nothing, failed: () => assert.fail() },
};

it('AppConnection reads no interim answers while the visitor takes none', async (t) => {
  let isWritten = false;
  const { connection } = await opened(t, (socket) => {
    socket.once('data', () => {
      const head = `HTTP/1.1 103 Early Hints\r\nx: ${'y'.repeat(headBytes)}\r\n\r\n`;
      const last = 'HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n';
      socket.write(head.repeat(heads) + last, () => (isWritten = true));
    });
  });
  let [interim, flushes, isEnded] = [0, 0, false];
  const events: AppEvents = {
    ...deaf,
    answerInterim: () => interim++,
    answerFlush: () => {
      flushes++;
      return false;
    },
    answerEnd: () => (isEnded = true),
  };
  connection.send(events, 'GET / HTTP/1.1\r\n\r\n', false);
  await eventually('all is on its way', () => isWritten && flushes === 1);
  for (let turn = 0; turn < 20; turn++) await new Promise(setImmediate);
  assert.ok(interim < 8, String(interim));
  while (!isEnded) {
    const before = flushes;
    connection.resume();
    await eventually('some more', () => flushes > before || isEnded);
  }
  assert.equal(interim, heads);
  assert.ok(flushes > 5);
});

it('AppConnection is kept from the head of an answer on, as long as the app says', async (t) => {
  for (const [passedS, isKept] of [
    [2, true],
    [3, false],
  ] as const) {
    let [released, ended] = [0, 0];
    let finish = nothing;
    const app = (socket: net.Socket): void => {
      const head = 'HTTP/1.1 200 OK\r\nkeep-alive: timeout=5\r\ncontent-length: 4\r\n\r\n';
      socket.once('data', () => socket.write(`${head}ha`));
      finish = () => socket.write('lf');
    };
    const { connection, clock } = await opened(t, app, () => released++);
    let came = 0;
    const answerBytes = (_bytes: Buffer, from: number, to: number): void =>
      void (came += to - from);
    const events = { ...deaf, answerBytes, answerEnd: () => (ended += 1) };
    connection.send(events, 'GET / HTTP/1.1\r\n\r\n', false);
    await eventually('half of it', () => came === 2);
    await clock.advance(passedS * 1000);
    finish();
    await eventually('all of it', () => ended === 1);
    assert.equal(released === 1, isKept);
    assert.equal(connection.isOpen, isKept);
  }
});

it('AppConnection keeps one that may lead to another server for seconds only', async (t) => {
  const dir = mkdtempSync(join(tmpdir(), 'gangway-way-'));
  t.after(() => rmSync(dir, { recursive: true }));
  const app = (socket: net.Socket): void =>
    void socket.once('data', () => socket.write('HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n'));
  let released = 0;
  const { connection, clock } = await opened(t, app, () => released++, join(dir, 'app.sock'));
  connection.send(deaf, 'GET / HTTP/1.1\r\n\r\n', false);
  await eventually('it is kept', () => released === 1);
  await clock.advance(6_000);
  assert.equal(connection.isOpen, false);
});
