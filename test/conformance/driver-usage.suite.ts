/** Owns what every driver promises of limits and usage, as tests, side by side: `run` them for each that can limit. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';

import type { Driver } from '../../src/drivers/driver.ts';
import type { Usage, WorkloadSpec } from '../../src/protocol/workload.ts';
import { ended, readAll, running, sh, specOf, textOf, until } from '../support/driver-specs.ts';
import type { SpecOverrides } from '../support/driver-specs.ts';
import type { DriverPlace } from './driver.suite.ts';

const unlimited: WorkloadSpec['resources'] = {
  memoryMb: null,
  cpus: null,
  pids: null,
  replicas: 1,
};

/** `adapt` makes of a spec for programs of the machine one that the driver can run. */
export function run(
  name: string,
  create: () => Promise<DriverPlace>,
  adapt: (spec: WorkloadSpec) => WorkloadSpec = (spec) => spec,
): void {
  describe(`${name} limits and counts`, { concurrency: 3 }, () => {
    let place: DriverPlace;
    let driver: Driver;
    before(async () => {
      place = await create();
      driver = place.driver;
    });
    after(() => place.close());

    const start = (overrides: SpecOverrides, limits: Partial<typeof unlimited> = {}) =>
      driver.start(adapt(specOf({ ...overrides, resources: { ...unlimited, ...limits } })));
    const usageOf = (id: string, enough: (usage: Usage) => boolean): Promise<Usage> =>
      until(`the usage of ${id}`, async () => {
        const usage = await driver.usage(id);
        return usage && enough(usage) ? usage : undefined;
      });

    it('tells of a workload what it uses, and counters only ascend', async () => {
      await start({ id: 'busy-1', command: sh('while :; do :; done'), kind: 'service' });
      const first = await usageOf('busy-1', ({ cpuNs }) => cpuNs > 0);
      assert.ok(first.memoryBytes > 0);
      const second = await usageOf('busy-1', ({ cpuNs }) => cpuNs > first.cpuNs + 50_000_000);
      assert.ok((second.networkInBytes ?? 0) >= (first.networkInBytes ?? 0));
      await driver.remove('busy-1');
    });

    it('counts memory that a program takes', async () => {
      // A line without an end is kept by tail until it ends.
      const command = sh('{ head -c 60000000 /dev/zero; sleep 1000; } | tail');
      await start({ id: 'large-1', command, kind: 'service' });
      await usageOf('large-1', ({ memoryBytes }) => memoryBytes > 60_000_000);
      await driver.remove('large-1');
    });

    it('tells nothing of what does not run', async () => {
      await start({ id: 'over-1', command: sh('true') });
      await ended(driver, 'over-1');
      assert.equal(await driver.usage('over-1'), undefined);
      assert.equal(await driver.usage('never-1'), undefined);
    });

    it('ends a program that takes more memory than it may, and says so', async () => {
      const command = sh('head -c 300000000 /dev/zero | tail; exit 9');
      await start({ id: 'greedy-1', command }, { memoryMb: 64 });
      const { exit } = (await ended(driver, 'greedy-1')).state;
      assert.match(exit.detail ?? '', /used more than its 64 MB of memory/);
      assert.equal(exit.cause, 'out_of_memory');
    });

    it('lets a program that stays below its memory be', async () => {
      const command = sh('head -c 20000000 /dev/zero | tail | wc -c');
      await start({ id: 'modest-1', command }, { memoryMb: 64 });
      const { exit } = (await ended(driver, 'modest-1')).state;
      assert.deepEqual([exit.code, exit.detail], [0, null]);
      assert.equal(textOf(await readAll(driver, 'modest-1')).trim(), '20000000');
    });

    it('lets a workload have as many processes as it may, and no more', async () => {
      const command = sh(
        'i=0; while [ $i -lt 60 ]; do sleep 98731 & i=$((i+1)); done; echo all of them',
      );
      await start({ id: 'many-1', command }, { pids: 30 });
      await ended(driver, 'many-1');
      assert.match(textOf(await readAll(driver, 'many-1'), 'stderr'), /fork/i);
      assert.deepEqual(running('sleep 98731'), []);
      await start({ id: 'many-2', command }, { pids: 100 });
      await ended(driver, 'many-2');
      assert.match(textOf(await readAll(driver, 'many-2'), 'stdout'), /all of them/);
    });

    it('ends a program that forks without end, whatever it may have', async () => {
      // A shell ends when it cannot fork. The outer one always can: the inner one has just made room.
      const forks = '(while :; do sleep 98741 & done) 2>/dev/null';
      const command = sh(`trap "" TERM; while :; do ${forks}; done`);
      const limits = { pids: 40 };
      await start({ id: 'bomb-1', command, kind: 'service', stopGraceMs: 200 }, limits);
      await until('the forks', () => running('sleep 98741').length > 30);
      assert.ok(running('sleep 98741').length <= 40);
      await driver.stop('bomb-1');
      assert.deepEqual(running('sleep 98741'), []);
    });
  });
}
