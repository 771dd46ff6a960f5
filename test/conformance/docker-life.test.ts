import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { before, describe, it } from 'node:test';
import { cleanups } from '../support/cleanups.ts';

import Docker from 'dockerode';

import { addresses } from './docker-addresses.suite.ts';
import type { DriverEvent } from '../../src/drivers/driver.ts';
import type { LogEntry } from '../../src/protocol/workload.ts';
import { ownDaemon } from '../support/docker-daemon.ts';
import { needs } from '../support/programs.ts';
import type { DockerDaemon } from '../support/docker-daemon.ts';
import { baseImage, importImages } from '../support/docker-images.ts';
import { containerSpec, dockerPlace } from '../support/docker-place.ts';
import { assertCounted, assertOnce, counting } from '../support/counted-lines.ts';
import { allAre, callsOf, codesOf } from '../support/driver-calls.ts';
import { ManualClock } from '../support/manual-clock.ts';
import { tempDir } from '../support/runner.ts';
import type { DockerPlace } from '../support/docker-place.ts';
import {
  assertAscending,
  collectInto,
  ended,
  readAll,
  running,
  sh,
  textOf,
  until,
  marked,
} from '../support/driver-specs.ts';

describe('the Docker driver and the lives of others', { skip: needs('docker') }, () => {
  const later = cleanups();
  let daemon: DockerDaemon;
  let place: DockerPlace;
  let docker: Docker;

  before(async () => {
    daemon = await ownDaemon({ liveRestore: true });
    later(() => daemon.close());
    await importImages(daemon.socket);
    place = await dockerPlace({ daemon });
    later(() => place.close());
    docker = new Docker({ socketPath: daemon.socket });
  });

  describe('follow()', () => {
    it('loses and repeats nothing when the daemon restarts in the middle of a burst', async () => {
      await place.driver.start(containerSpec({ id: 'burst-1', command: counting(3000, 40) }));
      const entries: LogEntry[] = [];
      const following = place.driver.follow(
        'burst-1',
        0,
        (more) => {
          collectInto(entries)(more);
          place.driver.acknowledge('burst-1', entries.length);
        },
        new AbortController().signal,
      );
      for (const enough of [300, 1500]) {
        await until('some of it', () => entries.length > enough);
        await daemon.restart();
      }
      await following;
      assertAscending(entries);
      const other = await place.reopen();
      // What a daemon has taken in and not written when it ends is lost with it, whoever follows.
      assert.deepEqual(textOf(entries), textOf(await readAll(other, 'burst-1')));
      assertOnce(textOf(entries), 3000);
      // Numbers stay: another reading from the middle gives the very same.
      const rest = await readAll(other, 'burst-1', 2000);
      assert.deepEqual(
        rest.map(({ seq, bytes }) => [seq, Buffer.from(bytes).toString()]),
        entries.slice(2000).map(({ seq, bytes }) => [seq, Buffer.from(bytes).toString()]),
      );
      await other.close();
    });

    it('loses and repeats nothing when the daemon hangs for a while', async () => {
      const driver = place.open({ requestTimeoutMs: 1000 });
      await place.driver.start(containerSpec({ id: 'hangs-1', command: counting(1000, 20) }));
      const entries: LogEntry[] = [];
      const { signal } = new AbortController();
      const following = driver.follow('hangs-1', 0, collectInto(entries), signal);
      await until('some of it', () => entries.length > 300);
      await daemon.whileFrozen(() =>
        assert.rejects(driver.inspect('hangs-1'), { code: 'AGENT_UNREACHABLE' }),
      );
      await following;
      assertAscending(entries);
      assertCounted(textOf(entries), 1000);
      await driver.close();
    });
  });

  describe('watch()', () => {
    it('tells by itself of a container that dies, and of one that is removed', async (test) => {
      // Whose clock stands comes to look at nothing: it is told.
      const driver = place.open({ clock: new ManualClock() });
      test.after(() => driver.close());
      await driver.open();
      const spec = containerSpec({ id: 'dies-1', command: sh('exec sleep 1000') });
      await place.driver.start(spec);
      const told: string[] = [];
      driver.watch((event) => {
        if (event.type !== 'state' || event.workload.spec.id !== 'dies-1') return;
        const { state } = event.workload;
        told.push(state.phase === 'ended' ? state.exit.reason : state.phase);
      });
      const container = docker.getContainer(`gangway-${place.instance}-dies-1`);
      await container.kill();
      await until('its end', () => told.includes('exited'));
      await container.remove({ force: true });
      await until('its loss', () => told.includes('lost'));
      assert.equal(await driver.inspect('dies-1'), undefined);
    });

    it('tells when the daemon is away, and of all that is there when it is back', async () => {
      await place.driver.open();
      const command = sh('exec sleep 1000');
      await place.driver.start(containerSpec({ id: 'stays-1', command, kind: 'service' }));
      const told: DriverEvent[] = [];
      const stop = place.driver.watch((event) => told.push(event));
      await daemon.stop();
      await until('the loss', () => told.some(({ type }) => type === 'disconnected'));
      const asked = place.driver.inspect('stays-1');
      await daemon.start();
      assert.equal((await asked)?.state.phase, 'running');
      const back = await until('the return', () =>
        told.find((event) => event.type === 'connected'),
      );
      assert.ok(back.workloads.some(({ spec }) => spec.id === 'stays-1'));
      stop();
      await place.driver.remove('stays-1');
    });

    for (const how of ['away', 'frozen']) {
      it(`gives every call an answer while the daemon is ${how}`, async () => {
        await place.driver.start(
          containerSpec({
            id: 'away-1',
            command: sh('sleep 1000'),
            kind: 'service',
            stopGraceMs: 1,
          }),
        );
        const driver = place.open({ requestTimeoutMs: 500 });
        const ask = async (): Promise<void> => {
          await driver.open();
          const calls = callsOf('away-1', place.dataDir);
          assert.deepEqual(await codesOf(calls, driver), allAre(calls, 'AGENT_UNREACHABLE'));
        };
        if (how === 'frozen') {
          await daemon.whileFrozen(ask);
        } else {
          await daemon.stop();
          await ask().finally(() => daemon.start());
        }
        await driver.close();
        await place.driver.remove('away-1');
      });
    }
  });

  it('answers a build and a stop in whose middle the daemon goes', async () => {
    const contextDir = tempDir();
    const dockerfile = marked(`FROM ${baseImage}\nRUN sleep 98851\n`);
    fs.writeFileSync(path.join(contextDir, 'Dockerfile'), dockerfile);
    const command = sh(`trap '' TERM; sleep 98852 & wait; wait`);
    const spec = containerSpec({ id: 'mid-1', command, kind: 'service', stopGraceMs: 3000 });
    await place.driver.start(spec);
    await until('the program', () => running('sleep 98852').length > 0);
    const { signal } = new AbortController();
    const build = place.driver.images?.build(
      {
        owner: 'app_mid',
        name: 'mid',
        contextDir,
        dockerfile: { path: 'Dockerfile' },
        buildArgs: {},
        logins: [],
      },
      () => undefined,
      signal,
    );
    const answers = Promise.allSettled([build, place.driver.stop('mid-1')]);
    await until('the step', () => running('sleep 98851').length > 0);
    await daemon.stop();
    await daemon.start();
    const [built, stopped] = await answers;
    assert.equal((built as { reason?: { code?: string } }).reason?.code, 'AGENT_UNREACHABLE');
    assert.equal(stopped.status, 'fulfilled');
    const { exit } = (await ended(place.driver, 'mid-1')).state;
    assert.equal(exit.reason, 'stopped');
    fs.rmSync(contextDir, { recursive: true });
    await place.driver.remove('mid-1');
  });

  addresses(() => ({ place, docker, daemon }));
});
