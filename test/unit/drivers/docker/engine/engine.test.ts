import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import path from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { rmSync } from 'node:fs';
import { after, before, describe, it } from 'node:test';
import { inspect } from 'node:util';

import { Engine } from '../../../../../src/drivers/docker/engine/engine.ts';
import { systemClock } from '../../../../../src/lib/clock.ts';
import { tempDir } from '../../../../support/runner.ts';

describe('Engine.begin()', () => {
  const dir = tempDir();
  const socket = path.join(dir, 'docker.sock');
  const server = createServer((_request, response) => response.end('all of it'));
  before(() => once(server.listen(socket), 'listening'));
  after(() => {
    server.close();
    server.closeAllConnections();
    rmSync(dir, { recursive: true });
  });

  it('fails nowhere else when what came whole is given up before its end is read', async (test) => {
    const uncaught: unknown[] = [];
    const catchIt = (error: unknown): void => {
      uncaught.push(error);
    };
    process.prependListener('uncaughtException', catchIt);
    test.after(() => process.off('uncaughtException', catchIt));
    const engine = new Engine({ socket, clock: systemClock, requestTimeoutMs: 10_000 });
    test.after(() => {
      engine.close();
    });
    const enough = new AbortController();
    const answer = await engine.begin(
      (docker) => docker.getContainer('one').logs({ follow: true, stdout: true }),
      enough.signal,
    );
    let text = '';
    for await (const chunk of answer) {
      text += String(chunk);
      enough.abort();
    }
    assert.equal(text, 'all of it');
    await setImmediate();
    assert.deepEqual(uncaught, []);
  });
});

describe('Engine.client()', () => {
  it('has a short word for its connections, which the client puts into words at each request', async () => {
    const engine = new Engine({
      socket: '/none/docker.sock',
      clock: systemClock,
      requestTimeoutMs: 10_000,
    });
    const { agent } = (await engine.client()).modem as { agent?: object };
    assert.ok(agent);
    // As docker-modem does.
    assert.ok(inspect({ agent }, { showHidden: true, depth: null }).length < 100);
  });
});
