/** What the process driver says of the layers that keep its workloads apart, and how they are chosen. */
import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, it } from 'node:test';

import { isolationLayers } from '../../src/protocol/isolation.ts';
import { sh, specOf, until } from '../support/driver-specs.ts';
import { memoryLogger } from '../support/memory-logger.ts';
import { isAlive } from '../support/processes.ts';
import { processPlace, runnerHello, runnerPid } from '../support/runner.ts';
import type { ProcessPlace } from '../support/runner.ts';

describe('the layers of isolation of the process driver', () => {
  let place: ProcessPlace;
  beforeEach(() => {
    place = processPlace({ without: ['network'] });
  });
  afterEach(() => place.close());

  const start = () =>
    place.driver.start(specOf({ id: 'app-1', command: sh('sleep 1000'), kind: 'service' }));

  it('are told by a runner that is started for it, and ends by itself', async (t) => {
    const logger = memoryLogger();
    const driver = place.open({ logger });
    t.after(() => driver.close());
    await driver.open();
    const [layers] = await Promise.all([driver.isolation?.(), driver.isolation?.()]);
    assert.equal(logger.events.filter(({ event }) => event === 'runner_started').length, 1);
    assert.deepEqual(
      layers?.map(({ layer }) => layer),
      isolationLayers,
    );
    const pid = await runnerPid(place.dataDir);
    await until('it has ended', () => pid !== undefined && !isAlive(pid));
    assert.deepEqual(await driver.list(), []);
    assert.equal(await runnerPid(place.dataDir), undefined);
  });

  it('are told by a runner that is there, and stays with what it runs', async () => {
    await start();
    const pid = await runnerPid(place.dataDir);
    const layers = (await place.driver.isolation?.()) ?? [];
    assert.deepEqual(
      layers.map(({ layer }) => layer),
      isolationLayers,
    );
    assert.notEqual(layers.find(({ layer }) => layer === 'network')?.missing, null);
    assert.equal((await place.driver.inspect('app-1'))?.state.phase, 'running');
    assert.equal(await runnerPid(place.dataDir), pid);
  });

  it('hide no app without the layer of networks, and nobody is asked', async () => {
    assert.equal(await place.driver.hidesApps?.(), false);
    assert.equal(await runnerHello(place.dataDir), undefined);
  });

  it('are those of the driver: a runner with others hands over, and what runs is started again', async (t) => {
    await start();
    const first = await runnerHello(place.dataDir);
    assert.deepEqual(first?.without, ['network']);
    await place.driver.close();
    const logger = memoryLogger();
    const other = place.open({ without: ['mount', 'network'], logger });
    t.after(() => other.close());
    await other.open();
    const second = await runnerHello(place.dataDir);
    assert.deepEqual(second?.without, ['mount', 'network']);
    assert.notEqual(second.pid, first.pid);
    await until(
      'it runs again',
      async () => (await other.inspect('app-1'))?.state.phase === 'running',
    );
    const told = logger.events.filter(({ event }) => event === 'runner_of_other_isolation');
    assert.ok(told.length > 0);
  });

  it('are no reason to hand over when they are the same', async (t) => {
    await start();
    const first = await runnerHello(place.dataDir);
    const other = place.open();
    t.after(() => other.close());
    await other.open();
    assert.equal((await runnerHello(place.dataDir))?.pid, first?.pid);
  });
});
