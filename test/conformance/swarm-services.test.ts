import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';
import type { Driver, DriverEvent } from '../../src/drivers/driver.ts';
import type { LogEntry, WorkloadSpec } from '../../src/protocol/workload.ts';
import { cleanups } from '../support/cleanups.ts';
import { ownDaemon } from '../support/docker-daemon.ts';
import { needs } from '../support/programs.ts';
import type { DockerDaemon } from '../support/docker-daemon.ts';
import { baseImage } from '../support/docker-images.ts';
import { containerSpec } from '../support/docker-place.ts';
import {
  assertAscending,
  collectInto,
  ended,
  readAll,
  sh,
  textOf,
  until,
} from '../support/driver-specs.ts';
import type { SpecOverrides } from '../support/driver-specs.ts';
import { type SwarmPlace, swarmPlace } from '../support/swarm-place.ts';

describe('services of a Docker swarm', { skip: needs('docker') }, () => {
  let place: SwarmPlace;
  let driver: SwarmPlace['driver'];
  before(async () => {
    place = await swarmPlace();
    ({ driver } = place);
    await driver.open();
  });
  after(() => place.close());

  const several = (overrides: SpecOverrides, replicas = 3): WorkloadSpec => {
    const spec = containerSpec({ kind: 'service', ...overrides });
    return { ...spec, resources: { ...spec.resources, replicas } };
  };
  const lines = (entries: readonly LogEntry[]): string[] => textOf(entries).trim().split('\n');
  const containersOf = async (id: string): Promise<string[]> => {
    const label = [`gangway.instance=${place.instance}`, `gangway.workload=${id}`];
    const found = await place.docker.listContainers({ filters: { label } });
    return found.map(({ Id: container }) => container);
  };

  /** From `afterSeq` on, until `enough` of it is there. */
  const readUntil = async (
    from: Driver,
    id: string,
    afterSeq: number,
    enough: (entries: readonly LogEntry[]) => boolean,
  ): Promise<LogEntry[]> => {
    const entries: LogEntry[] = [];
    const stop = new AbortController();
    await from.follow(
      id,
      afterSeq,
      (more) => {
        collectInto(entries)(more);
        if (enough(entries)) stop.abort();
      },
      stop.signal,
    );
    return entries;
  };

  it('merges the logs of three replicas completely, in the order of time', async () => {
    const command = sh(
      'i=0; while [ $i -lt 60 ]; do i=$((i+1)); echo "$HOSTNAME $i"; sleep 0.02; done; exec sleep 1000',
    );
    await driver.start(several({ id: 'three-1', command }));
    const seen = await readUntil(driver, 'three-1', 0, (entries) => entries.length >= 180);
    assertAscending(seen);
    assert.equal(seen.length, 180);
    const byTask = Map.groupBy(lines(seen), (line) => line.split(' ')[0]);
    assert.equal(byTask.size, 3);
    const each = Array.from({ length: 60 }, (_, at) => String(at + 1));
    for (const told of byTask.values()) {
      assert.deepEqual(
        told.map((line) => line.split(' ')[1]),
        each,
      );
    }
    const times = seen.map(({ atMs }) => atMs);
    assert.deepEqual(
      times,
      times.toSorted((a, b) => a - b),
    );

    // Whoever comes later, from wherever, gets the very same: also another process.
    const other = await place.reopen();
    for (const [from, afterSeq] of [
      [driver, 0],
      [driver, 77],
      [other, 0],
      [other, 133],
    ] as const) {
      const again = await readUntil(
        from,
        'three-1',
        afterSeq,
        ({ length }) => length >= 180 - afterSeq,
      );
      assert.deepEqual(again, seen.slice(afterSeq));
    }
    // Also behind what nobody asks for any more.
    driver.acknowledge('three-1', 100);
    const rest = await readUntil(driver, 'three-1', 120, ({ length }) => length >= 60);
    assert.deepEqual(rest, seen.slice(120));
    await other.close();
    await driver.remove('three-1');
  });

  // Not beside those that open another client, which removes networks that nobody is in yet.
  describe('side by side', { concurrency: 4 }, () => {
    it('goes on with the same numbers when it was killed while tasks log', async () => {
      const command = sh(
        'i=0; while [ $i -lt 400 ]; do i=$((i+1)); echo "$HOSTNAME $i"; sleep 0.005; done',
      );
      await driver.start(
        several({
          id: 'killed-1',
          command: [...command.slice(0, 2), `${command[2] ?? ''}; exec sleep 1000`],
        }),
      );
      const read: LogEntry[] = [];
      // Each reader goes without a word, somewhere in the middle.
      while (read.length < 1200) {
        const reader = place.open();
        const some = 100 + Math.floor(Math.random() * 150);
        const wanted = Math.min(some, 1200 - read.length);
        const more = await readUntil(
          reader,
          'killed-1',
          read.length,
          ({ length }) => length >= wanted,
        );
        // What came with the last batch was not noted by who was killed.
        read.push(...more.slice(0, wanted));
        await reader.close();
      }
      assertAscending(read);
      for (const told of Map.groupBy(lines(read), (line) => line.split(' ')[0]).values()) {
        assert.deepEqual(
          told.map((line) => Number(line.split(' ')[1])),
          Array.from({ length: 400 }, (_, at) => at + 1),
        );
      }
      await driver.remove('killed-1');
    });

    it('tells of a task that is killed from outside, and counts its restart', async () => {
      const told: DriverEvent[] = [];
      const unwatch = driver.watch((event) => told.push(event));
      await driver.start(several({ id: 'outside-1', command: sh('echo up; exec sleep 1000') }, 1));
      const phases = (): string[] =>
        told.flatMap((event) =>
          event.type === 'state' && event.workload.spec.id === 'outside-1'
            ? [event.workload.state.phase]
            : [],
        );
      let kills = 0;
      // Its pause may be over by the time somebody looks, on a machine that is busy enough.
      while (!phases().includes('waiting')) {
        const [container = ''] = await containersOf('outside-1');
        await place.docker.getContainer(container).kill();
        kills++;
        await until('it runs again', async () => {
          const found = (await driver.inspect('outside-1'))?.state;
          return found?.phase === 'running' && found.restarts === kills;
        });
      }
      const starts = Array.from({ length: kills + 1 }, () => 'up');
      const enough = ({ length }: readonly LogEntry[]): boolean => length >= starts.length;
      assert.deepEqual(lines(await readUntil(driver, 'outside-1', 0, enough)), starts);
      unwatch();
      await driver.stop('outside-1');
      assert.deepEqual(lines(await readAll(driver, 'outside-1')), starts);
      await driver.remove('outside-1');
    });

    it('says which image there is none of, and what ended for its memory', async () => {
      const none = containerSpec({ id: 'image-1', command: sh('true') });
      await driver.start({ ...none, container: { ...container(none), image: 'gangway-none:1' } });
      const { exit } = (await ended(driver, 'image-1')).state;
      assert.equal(exit.reason, 'failed_to_start');
      assert.match(exit.detail ?? '', /no such image/);
      const greedy = containerSpec({
        id: 'memory-1',
        command: sh('head -c 300000000 /dev/zero | tail; exit 9'),
      });
      await driver.start({ ...greedy, resources: { ...greedy.resources, memoryMb: 64 } });
      const { detail } = (await ended(driver, 'memory-1')).state.exit;
      assert.match(detail ?? '', /used more than its 64 MB of memory/);
    });

    it('keeps what a volume holds, and shares a network by names', async () => {
      const base = containerSpec({ id: 'keep-1', command: sh('echo kept > /data/file') });
      const shared = {
        ...container(base),
        image: baseImage,
        network: 'team-a',
        volumes: [{ name: 'keep', path: '/data' }],
      };
      await driver.start({ ...base, container: shared });
      await ended(driver, 'keep-1');
      const serve = sh('while :; do nc -l -p 9000 -e cat /data/file; done');
      await driver.start({
        ...several({ id: 'keep-2', command: serve }, 1),
        container: { ...shared, aliases: ['store'] },
      });
      const ask = sh('until nc store 9000 < /dev/null; do sleep 0.1; done');
      await driver.start({
        ...containerSpec({ id: 'keep-3', command: ask }),
        container: { ...shared, volumes: [] },
      });
      await ended(driver, 'keep-3');
      assert.match(textOf(await readAll(driver, 'keep-3'), 'stdout'), /kept/);
      await Promise.all(['keep-1', 'keep-2', 'keep-3'].map((id) => driver.remove(id)));
      await until('the volume can go', () =>
        driver.removeVolume('keep').then(
          () => true,
          () => false,
        ),
      );
    });

    it('leaves services of others alone, and tells of one of ours that others remove', async () => {
      const foreign = await place.docker.createService({
        Name: `other-${place.instance}`,
        TaskTemplate: { ContainerSpec: { Image: baseImage, Command: ['sleep', '1000'] } },
        Labels: { 'gangway.instance': 'somebody', 'gangway.workload': 'mine-1' },
      });
      const told: DriverEvent[] = [];
      driver.watch((event) => told.push(event));
      await driver.start(several({ id: 'mine-1', command: sh('exec sleep 1000') }, 1));
      assert.ok((await driver.list()).every(({ spec }) => spec.owner === 'app_test'));
      const [mine] = await place.docker.listServices({
        filters: { label: [`gangway.instance=${place.instance}`, 'gangway.workload=mine-1'] },
      });
      await place.docker.getService(mine?.ID ?? '').remove();
      await until('its loss is told', () =>
        told.some(
          (event) =>
            event.type === 'state' &&
            event.workload.state.phase === 'ended' &&
            event.workload.state.exit.reason === 'lost',
        ),
      );
      await driver.remove('mine-1');
      assert.ok(await foreign.inspect());
      await foreign.remove();
    });

    it('names the nodes as servers, and keeps nothing of what is removed', async () => {
      const [node, ...others] = await driver.servers();
      assert.deepEqual(others, []);
      assert.ok(node?.isOwn && node.connected && !node.draining);
      assert.match(node.version ?? '', /^\d+\./);
      await driver.start(containerSpec({ id: 'gone-1', command: sh('echo hi') }));
      await readAll(driver, 'gone-1');
      await driver.remove('gone-1');
      const folder = path.join(place.dataDir, 'swarm');
      const left = fs.readdirSync(folder, { recursive: true }).map(String);
      assert.deepEqual(
        left.filter((name) => name.includes('gone-1')),
        [],
      );
      assert.deepEqual(await containersOf('gone-1'), []);
      await until('its network goes', async () => {
        const filters = { label: [`gangway.instance=${place.instance}`] };
        // Those of workloads that earlier tests left are theirs.
        const left = await place.docker.listNetworks({ filters });
        return !left.some(({ Name: name }) => name.endsWith('-gone-1'));
      });
    });
  });
});

const skip =
  needs('docker') ||
  (process.env['GANGWAY_TEST_DOCKER_SOCKET'] ? 'needs a daemon of its own' : false);

describe('the log of a service, while the daemon is away', { skip }, () => {
  const later = cleanups();
  let daemon: DockerDaemon;
  let place: SwarmPlace;
  before(async () => {
    daemon = await ownDaemon();
    later(() => daemon.close());
    place = await swarmPlace({ daemon });
    later(() => place.close());
  });

  it('goes on with every line once, from the same follow and from a later one', async () => {
    const command = sh('i=0; while :; do i=$((i+1)); echo "$HOSTNAME $i"; sleep 0.05; done');
    const spec = containerSpec({ id: 'away-1', kind: 'service', command, stopGraceMs: 500 });
    await place.driver.start({ ...spec, resources: { ...spec.resources, replicas: 2 } });
    const seen: LogEntry[] = [];
    const stop = new AbortController();
    const following = place.driver.follow('away-1', 0, collectInto(seen), stop.signal);
    await until('some lines', () => seen.length > 40);
    await daemon.restart();
    const before = seen.length;
    const told = (): Map<string | undefined, string[]> =>
      Map.groupBy(textOf(seen).trim().split('\n'), (line) => line.split(' ')[0]);
    await until('lines of new tasks', () => seen.length > before + 60 && told().size >= 4);
    stop.abort();
    await following;
    assertAscending(seen);
    for (const lines of told().values()) {
      assert.deepEqual(
        lines.map((line) => Number(line.split(' ')[1])),
        lines.map((_line, index) => index + 1),
      );
    }
    const other = await place.reopen();
    const again: LogEntry[] = [];
    const enough = new AbortController();
    const lastSeq = seen.at(-1)?.seq ?? 0;
    await other.follow(
      'away-1',
      10,
      (more) => {
        collectInto(again)(more);
        if ((again.at(-1)?.seq ?? 0) >= lastSeq) enough.abort();
      },
      enough.signal,
    );
    // A daemon that ends in the wrong moment loses containers, with their logs.
    const left = await place.docker.listContainers({ all: true });
    const isLeft = (entry: LogEntry): boolean =>
      left.some(({ Id: container }) => textOf([entry]).startsWith(container.slice(0, 12)));
    assert.deepEqual(
      again.filter(({ seq }) => seq <= lastSeq),
      seen.slice(10).filter(isLeft),
    );
    await other.close();
  });
});

function container(spec: WorkloadSpec): NonNullable<WorkloadSpec['container']> {
  assert.ok(spec.container);
  return spec.container;
}
