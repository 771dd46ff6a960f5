import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { toWake, WorkloadWatch } from '../../../../src/actors/workload/watch.ts';
import type {
  AppRecord,
  DeploymentRecord,
  Instance,
} from '../../../../src/store/records/records.ts';
import { openStore } from '../../../../src/store/store.ts';
import type { Store } from '../../../../src/store/store.ts';
import { put } from '../../../../src/store/records/table.ts';
import { tables } from '../../../../src/store/records/tables.ts';
import { appRecord, deploymentRecord } from '../../../support/graphql-fixture.ts';
import { noLog } from '../../../support/runner.ts';
import { localServerId } from '../../../../src/places/local-place.ts';
import type { Actors } from '../../../../src/actors/runtime/actor.ts';
import { MemoryStore } from '../../../support/memory-store.ts';
import { ScriptedDriver } from '../../../support/scripted-driver.ts';
import { specOf } from '../../../support/driver-specs.ts';

const instance: Instance = {
  deploymentId: 'dpl_1',
  workloadId: 'w',
  host: '127.0.0.1',
  port: 1,
  startedAtMs: 0,
};
const idle: AppRecord['run'] = { seq: 0, live: null, next: null, draining: [], crashing: false };

describe('toWake()', () => {
  const dir = mkdtempSync(join(tmpdir(), 'gangway-watch-'));
  let store: Store;
  before(async () => {
    store = await openStore({ dir, logger: noLog });
  });
  after(async () => {
    await store.close();
    rmSync(dir, { recursive: true });
  });

  it('names those that should run, that have something under way or on its way out, and no other', async () => {
    const app = (id: string, more: Partial<AppRecord>) =>
      put(tables.apps, appRecord(id, 'team_a', { desired: 'stopped', run: idle, ...more }));
    const deployment = (appId: string, status: DeploymentRecord['status']) =>
      put(
        tables.deployments,
        deploymentRecord(`dpl_${appId}`, { id: appId, teamId: 'team_a' }, { status }),
      );
    await store.commit({
      actor: 'app:test',
      epoch: store.nextEpoch('app:test'),
      changes: [
        app('app_runs', { desired: 'running' }),
        app('app_trashed', { desired: 'running', deletedAtMs: 1 }),
        app('app_starts', { run: { ...idle, next: instance } }),
        app('app_ends', {
          deletedAtMs: 1,
          run: { ...idle, draining: [{ ...instance, stopAtMs: 1 }] },
        }),
        app('app_waits', {}),
        deployment('app_waits', 'queued'),
        app('app_failed', {}),
        deployment('app_failed', 'failed'),
        app('app_quiet', {}),
        app('app_elsewhere', { desired: 'running', serverId: 'srv_other' }),
        deployment('app_gone', 'queued'),
      ],
    });
    assert.deepEqual(toWake(store, 'srv_local'), [
      'app_ends',
      'app_runs',
      'app_starts',
      'app_waits',
    ]);
  });

  it('names as many as there are', async () => {
    const changes = Array.from({ length: 1_500 }, (_, i) =>
      put(tables.apps, appRecord(`app_${i}`, 'team_a', { desired: 'running', run: idle })),
    );
    await store.commit({ actor: 'app:test', epoch: store.nextEpoch('app:test'), changes });
    assert.equal(toWake(store, 'srv_local').length, 1_504);
  });
});

describe('WorkloadWatch', () => {
  const stored = (id: string, serverId: string) =>
    put(tables.apps, { ...appRecord(id, 'team_a', { run: idle }), serverId });

  async function watched(serverId: string) {
    const store = new MemoryStore();
    store.write([stored('app_here', serverId), stored('app_there', 'srv_there')]);
    const driver = new ScriptedDriver();
    const told: string[] = [];
    const tell: Actors['tell'] = (to, message) => void told.push(`${to.id} ${message.type}`);
    const actors = { tell } as unknown as Actors;
    for (const owner of ['app_here', 'app_there', 'app_gone']) {
      await driver.start(specOf({ id: `${owner}-1`, owner, kind: 'service', command: [] }));
    }
    const watch = new WorkloadWatch({
      ...{ place: { serverId, driver }, actors, reader: store, logger: noLog },
    });
    await watch.start();
    watch.close();
    return { driver, told };
  }

  it('lets no server tell of what is at another, and ends what it runs of that', async () => {
    const { driver, told } = await watched('srv_other');
    assert.deepEqual(told.sort(), ['app_here workloads', 'srv_other sync']);
    assert.deepEqual(
      (await driver.list()).map(({ spec }) => spec.id),
      ['app_here-1'],
    );
  });

  it('leaves to its actor what this machine runs of nobody', async () => {
    const { told } = await watched(localServerId);
    assert.deepEqual(told.sort(), [
      'app_gone workloads',
      'app_here workloads',
      `${localServerId} sync`,
    ]);
  });
});
