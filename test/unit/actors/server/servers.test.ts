import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, it } from 'node:test';

import { ActorRuntime } from '../../../../src/actors/runtime/runtime.ts';
import { serversDefinition } from '../../../../src/actors/server/actor.ts';
import { ServerWatch } from '../../../../src/actors/server/watch.ts';
import type { DriverEvent, ServerInfo } from '../../../../src/drivers/driver.ts';
import { ServiceError } from '../../../../src/lib/errors.ts';
import type { ServerRecord } from '../../../../src/store/records/records.ts';
import { tables } from '../../../../src/store/records/tables.ts';
import { ManualClock, settle } from '../../../support/manual-clock.ts';
import { noAuthority } from '../../../support/agent-requests.ts';
import { MemoryStore } from '../../../support/memory-store.ts';
import { recordingLogger } from '../../../support/silent-logger.ts';

const own: ServerInfo = {
  id: 'abc1',
  name: 'one',
  isOwn: true,
  connected: true,
  draining: false,
  version: '20.10.24',
};
const other: ServerInfo = { ...own, id: 'abc2', name: 'two', isOwn: false };
const away = new ServiceError('AGENT_UNREACHABLE', 'The Docker daemon does not answer.');

describe('the servers of a driver', () => {
  let store: MemoryStore;
  let clock: ManualClock;
  let runtime: ActorRuntime;
  let watch: ServerWatch;
  let answer: () => Promise<ServerInfo[]>;
  let tell: (event: DriverEvent) => void;
  let asked: number;

  beforeEach(async () => {
    store = new MemoryStore();
    clock = new ManualClock();
    const logger = recordingLogger();
    runtime = new ActorRuntime({ store, clock, logger, carry: structuredClone });
    runtime.register(serversDefinition({ reader: store, clock, authority: noAuthority }));
    runtime.start();
    asked = 0;
    answer = () => Promise.resolve([own, other]);
    watch = new ServerWatch({
      driver: {
        servers: () => {
          asked++;
          return answer();
        },
        watch: (listener) => {
          tell = listener;
          return () => undefined;
        },
      },
      actors: runtime.inside,
      clock,
      logger,
    });
    watch.start();
    await settle();
  });
  afterEach(async () => {
    watch.close();
    await runtime.close();
  });

  const known = (): ServerRecord[] =>
    [...store.scan(tables.servers)]
      .map((one) => ({ ...one }))
      .sort((a, b) => (a.id < b.id ? -1 : 1));
  const connected = (): boolean[] => known().map((one) => one.connected);

  it('are kept by ids of ours, of which the one that is asked has its own', () => {
    const { name, draining, version } = own;
    const seen = { connected: true, draining, version, lastSeenAtMs: clock.now() };
    assert.deepEqual(known(), [
      { id: 'srv_abc2', name: 'two', runtime: 'swarm', ...seen },
      { id: 'srv_local', name, runtime: 'swarm', ...seen },
    ]);
  });

  it('follow what the driver says of them, and go when they are none of its any more', async () => {
    const seenAtMs = clock.now();
    answer = () => Promise.resolve([own, { ...other, connected: false, draining: true }]);
    await clock.advance(1000);
    tell({ type: 'servers' });
    await settle();
    const [two] = known();
    assert.deepEqual(
      [two?.connected, two?.draining, two?.lastSeenAtMs],
      [false, true, seenAtMs],
      'it was seen last when it was connected',
    );
    answer = () => Promise.resolve([own]);
    tell({ type: 'servers' });
    await settle();
    assert.deepEqual(
      known().map(({ id }) => id),
      ['srv_local'],
    );
  });

  it('are not connected while the driver is lost, whatever an older look found', async () => {
    let late: (servers: ServerInfo[]) => void = () => undefined;
    answer = () => new Promise((resolve) => (late = resolve));
    tell({ type: 'servers' });
    tell({ type: 'disconnected' });
    late([own, other]);
    await settle();
    assert.deepEqual(connected(), [false, false]);
    assert.equal(known()[0]?.name, 'two', 'all else is as it was last known');
    answer = () => Promise.resolve([own, other]);
    tell({ type: 'connected', workloads: [] });
    await settle();
    assert.deepEqual(connected(), [true, true]);
  });

  it('are looked at now and then, and are not connected when that finds nobody', async () => {
    answer = () => Promise.reject(away);
    await clock.advance(30_000);
    assert.deepEqual(connected(), [false, false]);
    answer = () => Promise.resolve([own, other]);
    await clock.advance(30_000);
    assert.deepEqual(connected(), [true, true]);
  });

  it('are written only when they changed, or once a minute', async () => {
    const before = store.position;
    const looks = asked;
    await clock.advance(30_000);
    tell({ type: 'servers' });
    await settle();
    assert.equal(store.position, before);
    assert.equal(asked, looks + 2);
    await clock.advance(30_000);
    assert.equal(store.position, before + 1);
    assert.deepEqual(
      known().map(({ lastSeenAtMs }) => lastSeenAtMs),
      [clock.now(), clock.now()],
    );
  });
});
