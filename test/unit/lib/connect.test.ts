import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { rmSync } from 'node:fs';
import net from 'node:net';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { describe, it } from 'node:test';
import { setImmediate } from 'node:timers/promises';

import { accepts, connectWithin } from '../../../src/lib/connect.ts';
import { tempDir } from '../../support/runner.ts';
import { stall } from '../../support/stall.ts';

describe('connectWithin()', () => {
  const kinds: [string, (dir: string) => net.ListenOptions][] = [
    ['a port', () => ({ host: '127.0.0.1', port: 0 })],
    ['a socket', (dir) => ({ path: path.join(dir, 'one.sock') })],
  ];
  for (const [kind, place] of kinds) {
    it(`takes a connection to ${kind} that was there in time, though the process stood still`, async (test) => {
      const dir = tempDir();
      test.after(() => {
        rmSync(dir, { recursive: true });
      });
      const server = net.createServer((socket) => socket.destroy());
      test.after(() => server.close());
      const options = place(dir);
      await once(server.listen(options), 'listening');
      const { path: file, host } = options;
      const { port } = server.address() as AddressInfo;
      const address = file === undefined ? { host: host ?? '', port } : { path: file };
      await setImmediate();
      const connecting = connectWithin(address, 20);
      stall(100);
      (await connecting).destroy();
      await setImmediate();
      const asking = accepts(address, 20);
      stall(100);
      assert.equal(await asking, true);
    });
  }

  it('gives up what takes no connection in time', async (test) => {
    // It never comes to take the few that the system lets wait.
    const script = `const server = require('node:net').createServer();
      server.listen({ host: '127.0.0.1', port: 0, backlog: 1 }, () => {
        require('node:fs').writeSync(1, String(server.address().port));
        Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
      });`;
    const deaf = spawn(process.execPath, ['-e', script], { stdio: ['ignore', 'pipe', 'ignore'] });
    test.after(() => deaf.kill('SIGKILL'));
    const [told] = (await once(deaf.stdout, 'data')) as [Buffer];
    const port = Number(told);
    const address = { host: '127.0.0.1', port };
    const waiting = Array.from({ length: 8 }, () => net.connect(address).on('error', () => undefined)); // prettier-ignore
    test.after(() => {
      for (const one of waiting) one.destroy();
    });
    await Promise.race(waiting.map((one) => once(one, 'connect')));
    await assert.rejects(connectWithin(address, 50), { code: 'ETIMEDOUT' });
    assert.equal(await accepts(address, 50), false);
  });
});
