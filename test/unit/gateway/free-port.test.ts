import assert from 'node:assert/strict';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { describe, it } from 'node:test';
import { checkPort } from '../../../src/gateway/free-port.ts';

describe('checkPort()', () => {
  it('picks a port for 0, and lets go of it', async () => {
    const port = await checkPort('127.0.0.1', 0);
    assert.ok(port > 0);
    assert.equal(await checkPort('127.0.0.1', port), port);
  });

  it('refuses a port that somebody has, and an address of another machine', async () => {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    try {
      await assert.rejects(checkPort('127.0.0.1', port), {
        name: 'ListenError',
        message: `Cannot listen on 127.0.0.1:${String(port)}: it is taken, or not an address of ours`,
      });
    } finally {
      server.close();
    }
    await assert.rejects(checkPort('192.0.2.1', 0), { name: 'ListenError' });
  });
});
