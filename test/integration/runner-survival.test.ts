/** What the process driver promises across deaths: of its client, of its runner. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import fs from 'node:fs';
import http from 'node:http';
import path from 'node:path';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';

import type { DriverEvent } from '../../src/drivers/driver.ts';
import {
  assertAscending,
  ended,
  js,
  readAll,
  readSome,
  running,
  sh,
  specOf,
  textOf,
  until,
} from '../support/driver-specs.ts';
import { eventually } from '../support/eventually.ts';
import { freePort } from '../support/ports.ts';
import { isAlive } from '../support/processes.ts';
import { processPlace, runnerPid } from '../support/runner.ts';
import type { ProcessPlace } from '../support/runner.ts';

const client = fileURLToPath(new URL('../fixtures/driver-client.ts', import.meta.url));

describe('kill -9 of the client', () => {
  let place: ProcessPlace;
  beforeEach(() => {
    place = processPlace();
  });
  afterEach(() => place.close());

  it('loses no line and no exit code of what runs meanwhile', async () => {
    const command = js(`let i = 0; const timer = setInterval(() => {
      for (let n = 0; n < 50; n++) console.log('line ' + ++i);
      if (i >= 5000) { clearInterval(timer); process.exitCode = 9; }
    }, 10)`);
    await place.driver.start(specOf({ id: 'lines-1', command }));
    const file = path.join(place.dataDir, 'stored');
    const victim = spawn(process.execPath, [
      '--no-warnings',
      client,
      place.dataDir,
      'lines-1',
      file,
    ]);
    const size = (): number => fs.statSync(file, { throwIfNoEntry: false })?.size ?? 0;
    await until('some stored lines', () => size() > 2000);
    victim.kill('SIGKILL');
    const { exit } = (await ended(place.driver, 'lines-1')).state;
    assert.equal(exit.code, 9);
    const stored = fs.readFileSync(file, 'utf8').split('\n').slice(0, -1);
    const other = await place.reopen();
    const rest = await readAll(other, 'lines-1', stored.length);
    await other.close();
    assert.deepEqual(
      [
        ...stored,
        ...textOf(rest)
          .trimEnd()
          .split('\n')
          .map((line, i) => `${String(stored.length + i + 1)} ${line}`),
      ],
      Array.from({ length: 5000 }, (_, i) => `${String(i + 1)} line ${String(i + 1)}`),
    );
  });

  it('leaves one runner, also when two clients start at once', async () => {
    const other = place.open();
    await Promise.all([
      place.driver.start(specOf({ id: 'both-1', command: sh('sleep 1000'), kind: 'service' })),
      other.start(specOf({ id: 'both-1', command: sh('sleep 1000'), kind: 'service' })),
      other.start(specOf({ id: 'both-2', command: sh('sleep 1000'), kind: 'service' })),
    ]);
    assert.equal((await place.driver.list()).length, 2);
    await other.close();
    // The one that came second sees it and leaves.
    const runners = () => fs.readdirSync('/proc').filter((pid) => isRunnerOf(pid, place.dataDir));
    await eventually('one runner is left', () => runners().length === 1);
  });
});

describe('kill -9 of the runner', () => {
  let place: ProcessPlace;
  beforeEach(() => {
    place = processPlace();
  });
  afterEach(() => place.close());

  it('ends what ran and starts services again, never twice', async () => {
    const told: DriverEvent['type'][] = [];
    place.driver.watch((event) => told.push(event.type));
    const service = sh('echo up; setsid sleep 98711 & sleep 98712');
    await place.driver.start(specOf({ id: 'web-1', command: service, kind: 'service' }));
    await place.driver.start(specOf({ id: 'build-1', command: sh('echo built; sleep 98713') }));
    await place.driver.start(specOf({ id: 'done-1', command: sh('echo fine; exit 4') }));
    await ended(place.driver, 'done-1');
    for (const child of ['sleep 98711', 'sleep 98712']) {
      await until('the start', () => running(child).length === 1);
    }
    await until('the build', async () => textOf(await readSome(place.driver, 'build-1')) !== '');
    assert.equal(await place.replaceRunner('web-1'), 1);
    for (const child of ['sleep 98711', 'sleep 98712']) {
      await until('its children', () => running(child).length === 1);
    }
    assert.deepEqual(running('sleep 98713'), []);
    assert.equal((await ended(place.driver, 'build-1')).state.exit.reason, 'lost');
    assert.equal((await ended(place.driver, 'done-1')).state.exit.code, 4);
    assert.equal(textOf(await readAll(place.driver, 'done-1')), 'fine\n');
    assert.deepEqual(told.filter((type) => type === 'disconnected').length, 1);
    await place.driver.stop('web-1');
    const log = await readAll(place.driver, 'web-1');
    assertAscending(log);
    assert.equal(textOf(log), 'up\nup\n');
    assert.deepEqual(running('sleep 9871'), []);
  });

  it('does not start again what was being stopped', async () => {
    const stubborn = sh(`trap '' TERM; echo up; while :; do sleep 98721; done`);
    const spec = specOf({ id: 'going-1', command: stubborn, kind: 'service', stopGraceMs: 60_000 });
    await place.driver.start(spec);
    await until('the start', async () => textOf(await readSome(place.driver, 'going-1')) !== '');
    const stopping = place.driver.stop('going-1');
    await until('the order on disk', () =>
      fs
        .readFileSync(path.join(place.dataDir, 'runner/workloads/going-1/workload.json'), 'utf8')
        .includes('"stop"'),
    );
    await place.killRunner();
    await stopping;
    assert.equal((await ended(place.driver, 'going-1')).state.exit.reason, 'stopped');
    assert.deepEqual(running('sleep 98721'), []);
  });

  it('keeps the routes of the edge', async () => {
    const port = await freePort();
    const driver = place.open({ edge: { host: '127.0.0.1', port } });
    const appPort = await driver.freePort();
    const command = js(
      `require('http').createServer((q, s) => s.end('app')).listen(${String(appPort)})`,
    );
    await driver.start(specOf({ id: 'edge-1', command, kind: 'service', port: appPort }));
    await driver.setRoutes([
      { host: 'a.localhost', targets: [{ host: '127.0.0.1', port: appPort, workload: 'edge-1' }] },
    ]);
    await until('an answer', async () => (await get(port, 'a.localhost')) === '200 app');
    // While no client is there the apps are reached all the same.
    await driver.close();
    await place.driver.close();
    assert.equal(await get(port, 'a.localhost'), '200 app');
    const again = place.open({ edge: { host: '127.0.0.1', port } });
    await place.killRunner();
    await again.open();
    await until('an answer', async () => (await get(port, 'a.localhost')) === '200 app');
    await again.close();
  });
});

describe('the runner', () => {
  it('is not started by looking, ends with its data directory, and hands over on SIGTERM', async () => {
    const place = processPlace();
    await place.driver.open();
    assert.deepEqual(await place.driver.list(), []);
    await place.driver.stop('none-1');
    await Promise.all([place.driver.list(), place.driver.setRoutes([])]);
    assert.equal(await runnerPid(place.dataDir), undefined);
    await place.driver.start(specOf({ id: 'web-1', command: sh('sleep 98731'), kind: 'service' }));
    const pid = (await runnerPid(place.dataDir)) ?? 0;
    process.kill(pid, 'SIGTERM');
    await until('its end', () => !isAlive(pid));
    await until('the service', () => running('sleep 98731').length === 1);
    const next = await until('another runner', () => runnerPid(place.dataDir));
    await place.driver.close();
    fs.rmSync(place.dataDir, { recursive: true, force: true });
    await until('its end', () => !isAlive(next));
    assert.deepEqual(running('sleep 98731'), []);
  });

  it('is reached in a data directory whose path is too long for a socket', async () => {
    const outer = processPlace();
    const dataDir = path.join(outer.dataDir, 'd'.repeat(100), 'e'.repeat(100));
    fs.mkdirSync(dataDir, { recursive: true });
    const place = processPlace({ dataDir });
    await place.driver.start(specOf({ id: 'deep-1', command: sh('echo deep') }));
    assert.equal(textOf(await readAll(place.driver, 'deep-1')), 'deep\n');
    await place.close();
    await outer.close();
  });
});

function isRunnerOf(pid: string, dataDir: string): boolean {
  try {
    const line = fs.readFileSync(`/proc/${pid}/cmdline`, 'utf8');
    return line.includes('programs/runner/main') && line.includes(`\0${dataDir}\0`);
  } catch {
    return false; // No process, or one that ended meanwhile.
  }
}

function get(port: number, host: string): Promise<string> {
  return new Promise((resolve) => {
    const req = http.get({ host: '127.0.0.1', port, headers: { host }, agent: false }, (res) => {
      let body = '';
      res.on('data', (chunk: Buffer) => (body += chunk.toString()));
      res.on('end', () => {
        resolve(`${String(res.statusCode)} ${body}`);
      });
    });
    req.on('error', (error) => {
      resolve(error.message);
    });
  });
}
