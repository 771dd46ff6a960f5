import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import net from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { it, type TestContext } from 'node:test';
import { text } from 'node:stream/consumers';

import { writeFileWhole } from '../../../../src/lib/whole-file.ts';
import { startForwarding } from '../../../../src/programs/forwarding/forwarder.ts';
import { freePort } from '../../../support/ports.ts';

it('A new table applies to the very next connection', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'gangway-forwarder-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const table = join(folder, 'table.json');
  const [port, one, other] = [
    await freePort(),
    await answering(t, 'one'),
    await answering(t, 'other'),
  ];
  const leadTo = (target: number): void => {
    const targets = [{ host: '127.0.0.1', port: target }];
    writeFileWhole(table, JSON.stringify([{ port, targets }]), false);
  };
  leadTo(one);
  const forwarding = startForwarding(table);
  t.after(() => forwarding.close());
  assert.equal(await answerAt(port), 'one');
  for (let times = 0; times < 3; times++) {
    leadTo(other);
    assert.equal(await answerAt(port), 'other');
    leadTo(one);
    assert.equal(await answerAt(port), 'one');
  }
});

it('A connection goes to the target with the fewest', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'gangway-forwarder-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const table = join(folder, 'table.json');
  const port = await freePort();
  const targets = [];
  for (const name of ['one', 'other']) {
    targets.push({ host: '127.0.0.1', port: await answering(t, name, false) });
  }
  writeFileWhole(table, JSON.stringify([{ port, targets }]), false);
  const forwarding = startForwarding(table);
  t.after(() => forwarding.close());
  const open = async (): Promise<[string, net.Socket]> => {
    const socket = net.connect(port, '127.0.0.1');
    t.after(() => socket.destroy());
    const [bytes] = (await once(socket, 'data')) as [Buffer];
    return [bytes.toString(), socket];
  };
  const [first] = await open();
  for (let times = 0; times < 4; times++) {
    const [name, socket] = await open();
    assert.notEqual(name, first);
    socket.end();
    await once(socket, 'close');
  }
});

async function answering(t: TestContext, answer: string, ends = true): Promise<number> {
  const server = net.createServer((socket) => {
    if (ends) socket.end(answer);
    else socket.write(answer);
  });
  t.after(() => server.close());
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return (server.address() as net.AddressInfo).port;
}

async function answerAt(port: number): Promise<string> {
  return text(net.connect(port, '127.0.0.1'));
}
