import assert from 'node:assert/strict';
import { createServer, type Server } from 'node:net';
import { mkdtempSync, rmSync } from 'node:fs';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { connectHere } from '../../../src/places/local-place.ts';

const workload = 'app-1';
const never = new AbortController().signal;

async function greeting(t: TestContext, at: { path: string } | { port: 0 }): Promise<Server> {
  const server = createServer((socket) => socket.end('hello'));
  t.after(() => server.close());
  server.listen({ host: '127.0.0.1', ...at });
  await once(server, 'listening');
  return server;
}

async function heard(connection: AsyncIterable<Buffer>): Promise<string> {
  let text = '';
  for await (const bytes of connection) text += bytes.toString();
  return text;
}

describe('a connection to a workload of this machine', () => {
  it('goes to a port and to a socket', async (t) => {
    const folder = mkdtempSync(join(tmpdir(), 'gangway-connect-'));
    t.after(() => rmSync(folder, { recursive: true, force: true }));
    const path = join(folder, 's');
    await greeting(t, { path });
    assert.equal(await heard(await connectHere({ workload, path }, never)), 'hello');
    const { port } = (await greeting(t, { port: 0 })).address() as { port: number };
    const to = { workload, host: '127.0.0.1', port };
    assert.equal(await heard(await connectHere(to, never)), 'hello');
  });

  it('rejects with the error of the system, or the reason of its signal', async () => {
    const path = join(tmpdir(), 'gangway-nobody-listens');
    await assert.rejects(connectHere({ workload, path }, never), { code: 'ENOENT' });
    const over = AbortSignal.abort(new Error('too late'));
    await assert.rejects(connectHere({ workload, path }, over), /too late/);
    const ending = new AbortController();
    // Nobody answers at an address for documentation.
    const asked = connectHere({ workload, host: '192.0.2.1', port: 9 }, ending.signal);
    ending.abort(new Error('given up'));
    await assert.rejects(asked, /given up/);
  });
});
