import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { it, type TestContext } from 'node:test';
import { Bench } from '../../../bench/harness.ts';
import { type Contender, inTurn, sameBytes } from '../../../bench/rounds.ts';

/** A server that is not Gangway, and is to answer `right`. */
async function other(t: TestContext, answer: string): Promise<Contender> {
  const server = createServer((_request, response) => response.end(answer));
  t.after(() => server.close());
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    server: { port, url: `http://127.0.0.1:${String(port)}`, pid: process.pid },
    request: { path: '/' },
    check: sameBytes(Buffer.from('right')),
  };
}

it('A smoke asks others than Gangway for their answer, and does not load them', async (t) => {
  const bench = new Bench({ quick: true });
  t.after(() => bench.close());
  assert.deepEqual(await inTurn(bench, { bare: await other(t, 'right') }), { bare: [] });
  await assert.rejects(inTurn(bench, { bare: await other(t, 'wrong') }), /wrong answer: 200 wrong/);
});
