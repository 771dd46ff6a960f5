/** Workloads that only write. How much of a turn they get is in `unit/programs/runner/fair-turns.test.ts`. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { it } from 'node:test';

import { ended, readAll, sh, specOf, textOf } from '../support/driver-specs.ts';
import { freePort } from '../support/ports.ts';
import { processPlace, ready } from '../support/runner.ts';

function ask(port: number): Promise<number> {
  return new Promise((resolve, reject) => {
    const asked = http.get({ port, agent: false, headers: { host: 'a.localhost' } });
    asked.once('response', (answer) => {
      answer.resume().once('end', () => {
        resolve(answer.statusCode ?? 0);
      });
    });
    asked.once('error', reject);
  });
}

it('what floods its log holds up neither visitors nor the logs of others, and loses no line', async (t) => {
  const edge = { host: '127.0.0.1', port: await freePort() };
  const place = processPlace({ edge });
  t.after(() => place.close());
  const { driver } = place;
  await ready(driver);
  const app = http.createServer((_req, res) => res.end('here')).listen(0, '127.0.0.1');
  t.after(() => app.close());
  await once(app, 'listening');
  const { port } = app.address() as AddressInfo;
  await driver.setRoutes([{ host: 'a.localhost', targets: [{ host: '127.0.0.1', port }] }]);
  const floods = ['flood-1', 'flood-2'];
  for (const id of floods) {
    await driver.start(specOf({ id, kind: 'service', command: sh(`yes "" >&2 & yes ""`) }));
  }
  for (let i = 0; i < 10; i++) assert.equal(await ask(edge.port), 200);
  await driver.start(specOf({ id: 'quiet-1', command: sh('echo here') }));
  await ended(driver, 'quiet-1');
  assert.equal(textOf(await readAll(driver, 'quiet-1')), 'here\n');
  await driver.start(specOf({ id: 'burst-1', command: sh('yes "" | head -n 40000; printf end') }));
  const entries = await readAll(driver, 'burst-1');
  assert.equal(textOf(entries), `${'\n'.repeat(40_000)}end`);
  assert.equal(entries.at(-1)?.seq, 40_001);
  for (const id of floods) {
    assert.equal((await driver.inspect(id))?.state.phase, 'running');
    await driver.remove(id);
  }
});
