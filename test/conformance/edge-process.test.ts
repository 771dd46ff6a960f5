/** The edge as a process of its own beside a real runner. */
import assert from 'node:assert/strict';
import fs from 'node:fs';
import { request } from 'node:http';
import { after, before, describe, it } from 'node:test';

import { edgeUid } from '../../src/lib/processes/program-uids.ts';
import { js, until } from '../support/driver-specs.ts';
import { eventually, found } from '../support/eventually.ts';
import { freePort } from '../support/ports.ts';
import { edgeOf, isAlive } from '../support/processes.ts';
import { needs } from '../support/programs.ts';
import { processPlace, runnerPid } from '../support/runner.ts';
import type { ProcessPlace } from '../support/runner.ts';

const mebibyte = 1024 * 1024;

describe('the process of the edge', () => {
  let place: ProcessPlace;
  let port: number;
  let edgePort: number;
  before(async () => {
    edgePort = await freePort();
    place = processPlace({ edge: { host: '127.0.0.1', port: edgePort } });
    port = await place.driver.freePort();
    const app = `require('http').createServer((_, s) => s.end('own')).listen(${String(port)})`;
    const spec = { id: 'web-1', kind: 'service', command: js(app), port } as const;
    await place.driver.start(place.specOf(spec));
    const target = { host: '127.0.0.1', port, workload: 'web-1' };
    await place.driver.setRoutes([{ host: 'a.localhost', targets: [target] }]);
    await until('the app', async () => (await ask()) === 'own');
  });
  after(() => place.close());

  const ask = (): Promise<string> =>
    new Promise((resolve) => {
      const headers = { host: 'a.localhost' };
      const asking = request({ port: edgePort, headers, agent: false }, (answer) => {
        let text = '';
        answer.setEncoding('utf8').on('data', (more: string) => (text += more));
        answer.once('end', () => {
          resolve(text);
        });
      });
      asking.once('error', (error) => {
        resolve(error.message);
      });
      asking.end();
    });
  const edge = (): Promise<number> => found('the edge', () => edgeOf(place.dataDir)?.pid);

  it('is started again when it is killed; the runner and what runs take no notice', async () => {
    const [runner, before] = [await runnerPid(place.dataDir), await edge()];
    process.kill(before, 'SIGKILL');
    await eventually('its end', () => !isAlive(before));
    // It waits in the kernel until the next edge is there.
    assert.equal(await ask(), 'own');
    assert.equal(await runnerPid(place.dataDir), runner);
    const state = (await place.driver.inspect('web-1'))?.state;
    assert.deepEqual([state?.phase, state?.phase === 'running' && state.restarts], ['running', 0]);
  });

  it('is not root where its runner is, and gets no rights', { skip: needs('root') }, async () => {
    const status = fs.readFileSync(`/proc/${String(await edge())}/status`, 'utf8');
    const uid = String(edgeUid);
    assert.match(status, new RegExp(`^Uid:\t${uid}\t${uid}\t${uid}\t${uid}$`, 'm'));
    assert.match(status, new RegExp(`^Gid:\t${uid}\t${uid}\t${uid}\t${uid}$`, 'm'));
    assert.match(status, /^Groups:\s*$/m);
    assert.match(status, /^Cap(?:Eff|Prm):\t0+$/m);
    assert.match(status, /^NoNewPrivs:\t1$/m);
  });

  it('is small at rest, together with its runner', async () => {
    const sizes = async (): Promise<number[]> =>
      [await runnerPid(place.dataDir), await edge()].map((pid) => {
        const status = fs.readFileSync(`/proc/${String(pid)}/status`, 'utf8');
        return Number(/^VmRSS:\s+(\d+)/m.exec(status)?.[1]) * 1024;
      });
    let seen: number[] = [];
    const isSmall = async (): Promise<boolean> => {
      seen = await sizes();
      return seen.reduce((all, one) => all + one) < 110 * mebibyte;
    };
    // It was started a moment ago.
    await eventually('its rest', isSmall, 90_000).catch((cause: unknown) => {
      const message = seen.map((size) => Math.round(size / mebibyte)).join(' + ');
      throw new Error(message, { cause });
    });
  });

  it('has the program of whoever is connected to its runner, which may be older', () => {
    assert.match(
      edgeOf(place.dataDir)?.command ?? '',
      /\/runner\/edge-[0-9a-f]+\/programs\/edge\/main\.js/,
    );
  });

  for (const state of ['', ', also where it hangs'] as const) {
    it(`ends with its runner, and comes with the next${state}`, async () => {
      const before = await edge();
      if (state !== '') process.kill(before, 'SIGSTOP');
      await place.killRunner();
      await eventually('its end', () => !isAlive(before));
      await until('the app behind the next', async () => (await ask()) === 'own');
    });
  }
});
