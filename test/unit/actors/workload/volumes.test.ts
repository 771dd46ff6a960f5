import assert from 'node:assert/strict';
import { describe, it } from 'node:test';

import {
  ownVolumes,
  readVolumes,
  volumeOf,
  withVolumes,
} from '../../../../src/actors/workload/volumes.ts';
import type { VolumeFolders } from '../../../../src/drivers/driver.ts';
import { ScriptedDriver } from '../../../support/scripted-driver.ts';

interface Run {
  seq: number;
  volumes?: VolumeFolders;
  volumesBefore?: VolumeFolders;
}

const never = (): never => {
  throw new Error('not here');
};

function driverOf(...names: string[]): ScriptedDriver {
  const driver = new ScriptedDriver();
  driver.volumes = { of: () => Promise.resolve(names), read: never, write: never };
  return driver;
}

describe('the volumes of an app or a database', () => {
  const use = (): Promise<void> => Promise.resolve();

  it('have the names of backups, whatever restores have made of them', async () => {
    const first = { id: 'app_1', run: {} };
    const driver = driverOf('app_1-data', 'app_1-volume-state', 'app_1-restored-rst_0-data');
    assert.deepEqual((await readVolumes(driver, first)).live, {
      data: 'app_1-data',
      'volume-state': 'app_1-volume-state',
    });
    const own = await ownVolumes(driver, first, { restoreId: 'rst_1', use });
    assert.equal(own.before, null);
    const name = own.fresh('volume-state');
    const then = { ...first, run: withVolumes(first.run, { 'volume-state': name }, null) };
    // The one in whose place it came is not removed yet.
    const both = driverOf('app_1-data', 'app_1-volume-state', name);
    assert.deepEqual((await readVolumes(both, then)).live, {
      data: 'app_1-data',
      'volume-state': name,
    });
    assert.equal(volumeOf(then, 'volume-state'), name);
    assert.equal(volumeOf(then, 'data'), 'app_1-data');
  });

  it('keep those before them until the exchange is over', async () => {
    const none: Run = { seq: 3 };
    const run = withVolumes(none, { data: 'new' }, { data: 'old' });
    assert.deepEqual(run, { seq: 3, volumes: { data: 'new' }, volumesBefore: { data: 'old' } });
    const owner = { id: 'db_1', run };
    const { before } = await ownVolumes(driverOf('new', 'old'), owner, { restoreId: 'rst_1', use });
    assert.deepEqual(before, { data: 'old' });
    assert.deepEqual(withVolumes(run, { data: 'new' }, null), { seq: 3, volumes: { data: 'new' } });
  });
});
