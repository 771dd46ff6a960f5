/** What an app can do to the start of the next runner: nothing. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import path from 'node:path';
import { it } from 'node:test';

import { sh } from '../support/driver-specs.ts';
import { processPlace } from '../support/runner.ts';

it('whatever names an app takes, the next runner starts', async (t) => {
  const place = processPlace();
  t.after(() => place.close());
  const command = sh('sleep 98761');
  await place.driver.start(place.specOf({ id: 'web-1', command, kind: 'service' }));
  const stateDir = path.join(place.dataDir, 'runner');
  const { dev, ino } = fs.statSync(stateDir);
  const name = fs.readFileSync(path.join(stateDir, 'instance'), 'utf8');
  // Names in the abstract namespace are for everyone to read, and to take once they are free.
  assert.ok(!fs.readFileSync('/proc/net/unix', 'utf8').includes(name));
  const taken = `\\0gangway-runner-${name}-${dev.toString(36)}-${ino.toString(36)}`;
  const script = `require('net').createServer().listen('${taken}', () => console.log('mine'))`;
  const squatter = spawn(process.execPath, ['-e', script], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  t.after(() => squatter.kill('SIGKILL'));
  await once(squatter.stdout, 'data');
  assert.equal(await place.replaceRunner('web-1'), 1);
});
