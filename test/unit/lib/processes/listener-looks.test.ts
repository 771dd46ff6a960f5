import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import fs from 'node:fs';
import net from 'node:net';
import type { AddressInfo } from 'node:net';
import { before, describe, it } from 'node:test';

import { ListenerLooks } from '../../../../src/lib/processes/listener-looks.ts';
import { cleanups } from '../../../support/cleanups.ts';

const membership = (pids: readonly number[]) => ({
  mark: 'none',
  first: null,
  group: { pids: () => pids, kill: () => undefined },
});

describe('ListenerLooks', () => {
  const uid = process.getuid?.() ?? 0;
  const looks = new ListenerLooks();
  const defer = cleanups();
  /** Where another process listens. */
  let port: number;
  let pid: number;
  before(async () => {
    const script = `require('net').createServer().listen(0, '127.0.0.1', function () {
      console.log(this.address().port) }); process.stdin.resume().on('end', () => process.exit())`;
    const child = spawn(process.execPath, ['-e', script], { stdio: ['pipe', 'pipe', 'inherit'] });
    defer(() => child.stdin.end());
    pid = child.pid ?? 0;
    port = await new Promise<number>((resolve) => {
      child.stdout.once('data', (text: Buffer) => {
        resolve(Number(text));
      });
    });
  });

  it('tells an own listener from a stranger and from silence', async () => {
    assert.equal(await looks.probe(port, { membership: membership([pid]), uid }), 'listening');
    const others = { membership: membership([process.pid]), uid };
    assert.equal(await looks.probe(port, others), 'foreign');
    const elsewhere = { membership: membership([pid]), uid: uid + 1 };
    assert.equal(await looks.probe(port, elsewhere), 'foreign');
    assert.deepEqual(await looks.listenersOf({ membership: membership([pid]), uid: null }), [
      { address: '127.0.0.1', port },
    ]);
    assert.deepEqual(await looks.listenersOf(others), []);
    const server = net.createServer().listen(0);
    await new Promise((resolve) => server.once('listening', resolve));
    const { port: silent } = server.address() as AddressInfo;
    await new Promise((resolve) => server.close(resolve));
    assert.equal(await looks.probe(silent, { membership: membership([pid]), uid }), 'silent');
  });

  it('lets others have the loop, and answers by the uid where there is too much to look at', async () => {
    const files = Array.from({ length: 200 }, () => fs.openSync('/dev/null', 'r'));
    let turns = 0;
    let over = false;
    const count = (): void => {
      turns++;
      if (!over) setImmediate(count);
    };
    count();
    // The process that listens is the last one.
    const crowd = [...Array<number>(400).fill(process.pid), pid];
    const looked = { membership: membership(crowd), uid };
    assert.equal(await looks.probe(port, looked), 'listening');
    assert.ok(turns > 60, String(turns));
    assert.equal(await looks.probe(port, { ...looked, uid: null }), 'foreign');
    assert.deepEqual(await looks.listenersOf({ ...looked, uid: null }), []);
    over = true;
    for (const file of files) fs.closeSync(file);
  });

  it('looks for one asker after the other', async () => {
    const asked: number[] = [];
    const looked = (name: number) => ({
      uid: null,
      membership: {
        ...membership([]),
        group: {
          kill: () => undefined,
          pids: () => {
            asked.push(name);
            return Array<number>(300).fill(process.pid);
          },
        },
      },
    });
    const first = looks.probe(port, looked(1)).then(() => asked.length);
    const second = looks.probe(port, looked(2));
    assert.equal(await first, 1);
    assert.equal(await second, 'foreign');
    assert.deepEqual(asked, [1, 2]);
  });
});
