/**
 * What the Docker driver promises besides what every driver does, on a daemon that runs all the while.
 * The tests run side by side.
 */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';
import type Docker from 'dockerode';

import type { DriverEvent } from '../../src/drivers/driver.ts';
import type { LogEntry } from '../../src/protocol/workload.ts';
import { needs } from '../support/programs.ts';
import { baseImage, nodeImage } from '../support/docker-images.ts';
import { containerSpec, dockerPlace } from '../support/docker-place.ts';
import { assertCounted, counting } from '../support/counted-lines.ts';
import type { DockerPlace } from '../support/docker-place.ts';
import {
  assertAscending,
  collectInto,
  ended,
  give,
  readAll,
  running,
  sh,
  textOf,
  until,
  waitingFor,
} from '../support/driver-specs.ts';

const skip = needs('docker');

describe('workloads of the Docker driver', { skip, concurrency: 4 }, () => {
  let place: DockerPlace;
  let docker: Docker;

  before(async () => {
    place = await dockerPlace();
    ({ docker } = place);
    // Several drivers of one data directory, which there are here, must not make its network at once.
    await place.driver.hidesApps?.();
  });
  after(() => place.close());

  describe('follow()', () => {
    it('loses and repeats nothing when who follows is killed again and again', async () => {
      const file = path.join(place.dataDir, 'got');
      const held = { every: 1000, sign: '/tmp/more' };
      await place.driver.start(containerSpec({ id: 'kills-1', command: counting(4000, 40, held) }));
      const script = path.join(import.meta.dirname, '../support/docker-follower.ts');
      const { socket } = place.daemon;
      const follow = () => {
        const args = [script, socket, place.dataDir, place.instance, 'kills-1', file, '250'];
        return spawn(process.execPath, ['--no-warnings', ...args], { stdio: 'ignore' });
      };
      const got = (): number => (fs.existsSync(file) ? fs.statSync(file).size : 0);
      for (let kill = 0; kill < 3; kill++) {
        const child = follow();
        const before = got();
        await give(place.driver, 'kills-1', held.sign);
        await until('more of it', () => got() > before + 4000);
        child.kill('SIGKILL');
        await new Promise((resolve) => child.once('exit', resolve));
      }
      const last = follow();
      await give(place.driver, 'kills-1', held.sign);
      const code = await new Promise((resolve) => last.once('exit', resolve));
      assert.equal(code, 0);
      const lines = fs.readFileSync(file, 'utf8').trim().split('\n');
      assert.deepEqual(
        lines.map((line) => Number(line.split(' ')[0])),
        lines.map((_line, index) => index + 1),
      );
      assertCounted(lines.join('\n'), 4000);
    });

    it('goes on with what is newer when its place was rotated away', async () => {
      const driver = place.open({ log: { fileMb: 1, files: 2 } });
      const line = 'x'.repeat(1000);
      const many = `i=0; while [ $i -lt 6000 ]; do i=$((i+1)); echo "n $i ${line}"; done`;
      const command = sh(`echo first; ${waitingFor('/tmp/more')}; ${many}; echo last`);
      await driver.start(containerSpec({ id: 'rotate-1', command }));
      const whole: LogEntry[] = [];
      const { signal } = new AbortController();
      // On another data directory: it knows nothing of what the first has told.
      const other = place.open({ dataDir: path.join(place.dataDir, 'other') });
      const following = other.follow('rotate-1', 0, collectInto(whole), signal);
      const enough = new AbortController();
      await driver.follow(
        'rotate-1',
        0,
        ([entry]) => {
          driver.acknowledge('rotate-1', entry?.seq ?? 0);
          enough.abort();
        },
        enough.signal,
      );
      await until('the first line', () => whole.length > 0);
      await give(driver, 'rotate-1', '/tmp/more');
      await ended(driver, 'rotate-1');
      const rest = await readAll(driver, 'rotate-1', 1);
      assertAscending(rest, 2);
      const numbers = [...textOf(rest).matchAll(/n (\d+)/g)].map(([, n]) => Number(n));
      assert.ok(numbers.length > 500 && numbers.length < 6000);
      assert.deepEqual(
        numbers,
        numbers.map((_n, index) => 6001 - numbers.length + index),
      );
      assert.match(textOf(rest), /last\n$/);
      await following;
      assertAscending(whole);
      // The daemon tells some again while it rotates: nobody is told them.
      const told = [...textOf(whole).matchAll(/n (\d+)/g)].map(([, n]) => Number(n));
      assert.deepEqual(
        told,
        [...new Set(told)].sort((a, b) => a - b),
      );
      assert.ok(told.length > 500);
      await Promise.all([driver.close(), other.close()]);
    });
  });

  describe('others on the same daemon', () => {
    it('are not listed, stopped, removed or told of', async () => {
      const theirs = await dockerPlace({ daemon: place.daemon });
      const foreign = await docker.createContainer({
        name: `gangway-${place.instance}-mine-1`,
        Image: baseImage,
        Cmd: ['sleep', '1000'],
      });
      await foreign.start();
      const told: DriverEvent[] = [];
      place.driver.watch((event) => told.push(event));
      const spec = containerSpec({ id: 'theirs-1', command: sh('sleep 1000'), kind: 'service' });
      await theirs.driver.start({ ...spec, stopGraceMs: 100 });
      const ids = (await place.driver.list()).map((workload) => workload.spec.id);
      assert.ok(!ids.includes('theirs-1') && !ids.includes('mine-1'));
      for (const id of ['theirs-1', 'mine-1']) {
        assert.equal(await place.driver.inspect(id), undefined);
        await place.driver.stop(id);
        await place.driver.remove(id);
      }
      // Its name is taken by who has nothing to do with us.
      const refused = await place.driver.start(
        containerSpec({ id: 'mine-1', command: sh('true') }),
      );
      assert.equal(refused.state.phase, 'ended');
      assert.equal((await foreign.inspect()).State.Running, true);
      assert.equal((await theirs.driver.inspect('theirs-1'))?.state.phase, 'running');
      const seen = told.flatMap((event) => (event.type === 'state' ? event.workload.spec.id : []));
      assert.ok(!seen.includes('theirs-1'));
      await foreign.remove({ force: true });
      await place.driver.remove('mine-1');
      await theirs.close();
    });

    it('keep volumes and networks of theirs', async () => {
      const container = {
        image: nodeImage,
        port: null,
        volumes: [{ name: 'store', path: '/data' }],
        network: 'team',
        aliases: ['one'],
      };
      const command = sh('echo kept > /data/file; exec sleep 1000');
      const spec = containerSpec({ id: 'holds-1', command, kind: 'service', container });
      const { owner } = spec;
      await place.driver.start({ ...spec, stopGraceMs: 100 });
      const connect = `require('net').connect(1, 'one').on('error', (e) => console.log(e.code))`;
      const asks = sh(`node -e "${connect}"; cat /data/file`);
      await place.driver.start(
        containerSpec({ id: 'asks-1', command: asks, container: { ...container, aliases: [] } }),
      );
      await ended(place.driver, 'asks-1');
      assert.match(textOf(await readAll(place.driver, 'asks-1')), /^ECONNREFUSED\nkept\n$/);
      await docker.createVolume({ Name: `gangway-${place.instance}-foreign` });
      await place.driver.removeVolume('foreign');
      await assert.rejects(place.driver.removeVolume('store'), { code: 'CONFLICT' });
      await place.driver.remove('holds-1');
      await place.driver.remove('asks-1');
      const names = (await docker.listNetworks()).map(({ Name: name }) => name);
      assert.ok(!names.includes(`gangway-${place.instance}-net-team`));
      await place.driver.removeVolumesOf('app_other');
      assert.ok((await docker.getVolume(`gangway-${place.instance}-store`).inspect()).Name);
      await place.driver.removeVolumesOf(owner);
      await place.driver.removeVolume('store');
      const { Volumes: volumes } = await docker.listVolumes();
      const left = volumes.map(({ Name: name }) => name);
      assert.ok(left.includes(`gangway-${place.instance}-foreign`));
      assert.ok(!left.includes(`gangway-${place.instance}-store`));
    });
  });

  describe('a job', () => {
    it('is ended at its deadline also when its driver was opened anew', async (t) => {
      // Another driver of the same place would end it as well, and tell nobody why.
      const alone = await dockerPlace();
      t.after(() => alone.close());
      const command = sh('sleep 98821 & echo begun; wait');
      await alone.driver.start(containerSpec({ id: 'late-2', command, deadlineMs: 2500 }));
      await alone.driver.close();
      const second = await alone.reopen();
      const { exit } = (await ended(second, 'late-2')).state;
      assert.equal(exit.reason, 'deadline');
      assert.deepEqual(running('sleep 98821'), []);
      // What it ended for is known for good.
      const third = await alone.reopen();
      assert.equal((await ended(third, 'late-2')).state.exit.reason, 'deadline');
    });
  });

  it('says of an image that is not there why nothing starts, also after a restart', async () => {
    const container = { image: 'none:1', port: null, volumes: [], network: null, aliases: [] };
    await place.driver.start(containerSpec({ id: 'none-1', command: [], container }));
    const other = await place.reopen();
    const { exit } = (await ended(other, 'none-1')).state;
    assert.equal(exit.reason, 'failed_to_start');
    assert.match(exit.detail ?? '', /no such image/);
    assert.ok((await other.list()).some(({ spec }) => spec.id === 'none-1'));
    await other.remove('none-1');
    assert.equal(await other.inspect('none-1'), undefined);
    await other.close();
  });

  it('keeps variables out of labels, and ports on loopback', async () => {
    const port = await place.driver.freePort();
    const command = sh('exec sleep 1000');
    const spec = containerSpec({ id: 'plain-1', command, kind: 'service', port });
    await place.driver.start({ ...spec, env: { SECRET: 'hidden' }, stopGraceMs: 100 });
    const view = await docker.getContainer(`gangway-${place.instance}-plain-1`).inspect();
    assert.ok(!JSON.stringify(view.Config.Labels).includes('hidden'));
    const bindings = Object.values(view.HostConfig.PortBindings as object).flat() as {
      HostIp: string;
    }[];
    assert.deepEqual(
      bindings.map(({ HostIp: host }) => host),
      ['127.0.0.1'],
    );
    assert.deepEqual(view.HostConfig.CapDrop, ['ALL']);
    assert.equal(view.HostConfig.Privileged, false);
    await place.driver.remove('plain-1');
  });
});
