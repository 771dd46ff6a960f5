import assert from 'node:assert/strict';
import { once } from 'node:events';
import net, { type AddressInfo } from 'node:net';
import { it, type TestContext } from 'node:test';
import { ListenerTable } from '../../../../src/lib/processes/listener-table.ts';

async function listening(t: TestContext, host: string, port = 0): Promise<number> {
  const server = net.createServer().listen({ port, host, exclusive: true });
  t.after(() => server.close());
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
}

it('ListenerTable tells who takes connections to an address', async (t) => {
  const table = new ListenerTable();
  const port = await listening(t, '127.0.0.1');
  await listening(t, '127.0.0.2', port);
  const found = await table.at('127.0.0.1', port);
  assert.deepEqual(
    found.map(({ address, uid }) => [address, uid]),
    [['127.0.0.1', process.getuid?.()]],
  );
  assert.deepEqual(await table.at('::1', port), []);
  const everywhere = await listening(t, '0.0.0.0');
  const [socket] = await table.at('127.0.0.1', everywhere);
  assert.equal(socket?.address, '0.0.0.0');
  // A look begins behind the call.
  const before = table.at('127.0.0.1', everywhere);
  assert.deepEqual(await table.at('127.0.0.1', everywhere), await before);
});
