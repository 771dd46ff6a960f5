import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { afterEach, beforeEach, describe, it } from 'node:test';

import { createDockerDriver } from '../../../../src/drivers/docker/docker-driver.ts';
import type { DockerDriverOptions } from '../../../../src/drivers/docker/docker-driver.ts';
import { Engine } from '../../../../src/drivers/docker/engine/engine.ts';
import { Names } from '../../../../src/drivers/docker/engine/names.ts';
import type { Driver, DriverEvent } from '../../../../src/drivers/driver.ts';
import { createSwarmDriver } from '../../../../src/drivers/swarm/swarm-driver.ts';
import { systemClock } from '../../../../src/lib/clock.ts';
import { containerSpec } from '../../../support/docker-place.ts';
import { noEdge } from '../../../support/driver-place.ts';
import {
  aCommand,
  allAre,
  aTerminal,
  callsOf,
  codesOf,
  deaf,
} from '../../../support/driver-calls.ts';
import { until } from '../../../support/driver-specs.ts';
import { hangingDaemon } from '../../../support/hanging-daemon.ts';
import type { HangingDaemon } from '../../../support/hanging-daemon.ts';
import { noLog, tempDir } from '../../../support/runner.ts';

const instance = 'hangs';
const spec = containerSpec({ id: 'one-1', command: ['true'], kind: 'service' });
/** A container of ours, that runs and may be attached to. */
const view = {
  Id: 'c0ffee',
  RestartCount: 0,
  State: {
    Status: 'running',
    Running: true,
    Restarting: false,
    Pid: 0,
    ExitCode: 0,
    Error: '',
    StartedAt: '2026-01-01T00:00:00.5Z',
    FinishedAt: '0001-01-01T00:00:00Z',
  },
  Config: { Labels: new Names(instance).labelsOf(spec), OpenStdin: true, Tty: true },
  HostConfig: {},
  NetworkSettings: { Networks: {}, Ports: {} },
};

const running = /^GET \/containers\/[^/]+\/json/;
const shell = /^HEAD /;
const made = /^POST \/containers\/[^/]+\/exec/;
const started = /^POST \/exec\/e1\/start/;

describe('a daemon that hangs', () => {
  let daemon: HangingDaemon;
  let dir: string;
  let options: DockerDriverOptions;
  let driver: Driver;

  beforeEach(async () => {
    daemon = await hangingDaemon();
    dir = tempDir();
    const { socket } = daemon;
    const parts = { socket, dataDir: path.join(dir, 'data'), instance, edge: noEdge };
    options = { ...parts, logger: noLog, requestTimeoutMs: 750 };
    driver = createDockerDriver(options);
  });
  afterEach(async () => {
    await driver.close();
    await daemon.close();
    fs.rmSync(dir, { recursive: true, force: true });
  });

  for (const kind of ['docker', 'swarm']) {
    it(`gets no call of the ${kind} driver stuck, nor a connection`, async () => {
      const runForwarder = (): Promise<void> => Promise.resolve();
      const asked = kind === 'docker' ? driver : createSwarmDriver({ ...options, runForwarder });
      await asked.open();
      const calls = callsOf('one-1', dir);
      assert.deepEqual(await codesOf(calls, asked), allAre(calls, 'AGENT_UNREACHABLE'));
      await asked.close();
      await until('all connections are let go of', () => daemon.open === 0);
    });
  }

  it('gets no step stuck that comes behind others', async () => {
    daemon.answer(running, view);
    daemon.answer(shell, {});
    daemon.answer(made, { Id: 'e1' });
    const { terminal, attach, exec, usage, stop } = callsOf('one-1', dir);
    const steps = { terminal, attach, exec, usage };
    assert.deepEqual(await codesOf(steps, driver), allAre(steps, 'AGENT_UNREACHABLE'));
    // Its own grace comes on top, and a minute.
    stop(driver).catch(() => undefined);
    await until('it is asked', () => daemon.requests.some((line) => line.includes('/stop?')));
  });

  it('lets a command end in its time, and a terminal be told as lost', async () => {
    daemon.answer(running, view);
    daemon.answer(shell, {});
    daemon.answer(made, { Id: 'e1' });
    daemon.answer(started, 'stream');
    const { signal } = new AbortController();
    assert.equal((await driver.exec('one-1', aCommand, signal)).exitCode, 124);
    daemon.answer(/^POST \/exec\/e1\/resize/, {});
    const exits: boolean[] = [];
    const events = { ...deaf, exit: ({ lost }: { lost: boolean }) => exits.push(lost) };
    const console = await driver.openTerminal('one-1', aTerminal, events);
    daemon.hang();
    console.resize(100, 30);
    console.write(Buffer.from('held back until it has its size'));
    await until('it is typed', () => console.unwritten === 0);
    console.close();
    await until('its end', () => exits.length > 0);
  });

  it('may have a stream given up that nobody reads', async () => {
    daemon.answer(/^GET \/events/, 'stream');
    const engine = new Engine({ ...options, clock: systemClock, requestTimeoutMs: 20_000 });
    const stop = new AbortController();
    await engine.begin((docker) => docker.getEvents(), stop.signal);
    stop.abort();
    await until('it is let go of', () => daemon.open === 0);
    engine.close();
  });

  it('is told as away though its stream of events is open', async () => {
    daemon.answer(/^GET \/containers\/json/, []);
    daemon.answer(/^GET \/events/, 'stream');
    const told: DriverEvent['type'][] = [];
    driver.watch(({ type }) => told.push(type));
    await driver.open();
    assert.deepEqual(told, ['connected']);
    await until('it is away', () => told.includes('disconnected'));
  });

  it('lets no build and no pull wait for it, but while it answers at all', async () => {
    daemon.answer(/^GET \/_ping/, {});
    daemon.answer(/^GET \/images\//, { Id: 'sha256:1', RepoTags: [], Config: {} });
    daemon.answer(/^GET \/images\/json/, []);
    daemon.answer(/^POST \/session/, 'stream');
    daemon.answer(/^POST \/build/, 'stream');
    daemon.answer(/^POST \/images\/create/, 'stream');
    const { build, pull } = callsOf('one-1', dir);
    const outcome = codesOf({ build, pull }, driver);
    const pings = (): number => daemon.requests.filter((line) => line.endsWith('/_ping')).length;
    await until('it was asked often whether it is there', () => pings() > 8);
    daemon.hang();
    assert.deepEqual(await outcome, allAre({ build, pull }, 'AGENT_UNREACHABLE'));
  });
});
