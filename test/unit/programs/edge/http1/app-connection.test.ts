import assert from 'node:assert/strict';
import { once } from 'node:events';
import net, { type AddressInfo } from 'node:net';
import { it } from 'node:test';

import {
  AppConnection,
  type AppEvents,
} from '../../../../../src/programs/edge/http1/app-connection.ts';
import { Watch } from '../../../../../src/programs/edge/watch.ts';
import { eventually } from '../../../../support/eventually.ts';
import { ManualClock } from '../../../../support/manual-clock.ts';

const [heads, headBytes] = [90, 10_000];

it('AppConnection reads no interim answers while the visitor takes none', async (t) => {
  let isWritten = false;
  const server = net.createServer((socket) => {
    socket.once('data', () => {
      const head = `HTTP/1.1 103 Early Hints\r\nx: ${'y'.repeat(headBytes)}\r\n\r\n`;
      const last = 'HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n';
      socket.write(head.repeat(heads) + last, () => (isWritten = true));
    });
  });
  t.after(() => server.close());
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = server.address() as AddressInfo;
  const watch = new Watch(new ManualClock());
  t.after(() => watch.close());
  const connection = await AppConnection.open({ host: '127.0.0.1', port }, watch, () => undefined);
  t.after(() => connection.destroy());
  let [interim, flushes, isEnded] = [0, 0, false];
  const nothing = (): void => undefined;
  const events: AppEvents = {
    ...{ isHead: false, mayUpgrade: false, holdsBytes: false },
    ...{
      answerHead: nothing,
      answerBytes: nothing,
      appDrained: nothing,
      failed: () => assert.fail(),
    },
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
