import assert from 'node:assert/strict';
import { createServer, request } from 'node:http';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, before, describe, it } from 'node:test';
import { freePort } from '../support/ports.ts';
import { eventually, found } from '../support/eventually.ts';
import { isAlive } from '../support/processes.ts';
import { processPlace, runnerPid } from '../support/runner.ts';
import type { ProcessPlace } from '../support/runner.ts';

/** As when containers are what it leads to, and Gangway itself is away. */
describe('an edge in front of what its runner does not run', () => {
  let app: Server;
  let place: ProcessPlace;
  let port: number;
  before(async () => {
    app = createServer((_request, response) => response.end('from elsewhere'));
    await new Promise<void>((resolve) => app.listen(0, '127.0.0.1', resolve));
    port = await freePort();
    place = processPlace({ edge: { host: '127.0.0.1', port } });
  });
  after(async () => {
    await place.close();
    app.closeAllConnections();
    await new Promise((resolve) => app.close(resolve));
  });

  const ask = (): Promise<string> =>
    new Promise((resolve) => {
      const headers = { host: 'a.localhost' };
      const asking = request({ port, headers, agent: false }, (response) => {
        let text = '';
        response.setEncoding('utf8').on('data', (more: string) => (text += more));
        response.once('end', () => {
          resolve(text);
        });
      });
      asking.once('error', (error) => {
        resolve(error.message);
      });
      asking.end();
    });
  const another = (before: number | undefined): Promise<void> =>
    eventually('another runner', async () => {
      const pid = await runnerPid(place.dataDir);
      return pid !== undefined && pid !== before;
    });
  const route = () => {
    const target = { host: '127.0.0.1', port: (app.address() as AddressInfo).port };
    return { host: 'a.localhost', targets: [target] };
  };

  it('is started again with its last routes when its runner dies', async () => {
    await place.driver.setRoutes([route()]);
    assert.equal(await ask(), 'from elsewhere');
    const before = await runnerPid(place.dataDir);
    await place.killRunner();
    await another(before);
    await eventually('it serves again', async () => (await ask()) === 'from elsewhere');
  });

  it('is started again also where no route leads anywhere', async () => {
    const vacant = { ...route(), targets: [], vacancy: 'not_deployed' } as const;
    await place.driver.setRoutes([vacant]);
    const before = await runnerPid(place.dataDir);
    await place.killRunner();
    await another(before);
    await eventually('it answers again', async () => (await ask()).includes('not deployed yet'));
    await place.driver.setRoutes([route()]);
  });

  it('goes on without anybody connected, and ends when no route leads anywhere', async () => {
    const pid = await found('the runner', () => runnerPid(place.dataDir));
    await place.driver.close();
    // A runner that is of no use looks twice, 2 s apart, and ends: more looks than that go by.
    let looks = 0;
    const ended = new Promise<void>((resolve) => {
      const timer = setInterval(() => {
        looks += 1;
        if (looks < 12 && isAlive(pid)) return;
        clearInterval(timer);
        resolve();
      }, 500);
    });
    await ended;
    assert.ok(isAlive(pid));
    assert.equal(await ask(), 'from elsewhere');
    const other = place.open();
    await other.open();
    await other.setRoutes([{ ...route(), targets: [] }]);
    await other.close();
    await eventually('it ends', () => !isAlive(pid));
  });
});
