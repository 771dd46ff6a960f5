import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, it } from 'node:test';

import { appActor, type AppProtocol } from '../../../../src/actors/app/protocol.ts';
import type { Actor, ActorDefinition } from '../../../../src/actors/runtime/actor.ts';
import { ActorRuntime } from '../../../../src/actors/runtime/runtime.ts';
import { serversDefinition } from '../../../../src/actors/server/actor.ts';
import { serversActor } from '../../../../src/actors/server/protocol.ts';
import type { AppRecord, MoveRecord } from '../../../../src/store/records/records.ts';
import { put } from '../../../../src/store/records/table.ts';
import { tables } from '../../../../src/store/records/tables.ts';
import { ManualClock } from '../../../support/manual-clock.ts';
import { MemoryStore } from '../../../support/memory-store.ts';
import { recordingLogger } from '../../../support/silent-logger.ts';

const [here, there] = ['srv_local', 'srv_there'];
const servers = serversActor.at('all');

describe('emptying a server', () => {
  let store: MemoryStore;
  let clock: ManualClock;
  let runtime: ActorRuntime;
  /** The apps that were asked to move here, in order. */
  let asked: string[];

  beforeEach(() => {
    store = new MemoryStore();
    clock = new ManualClock();
    asked = [];
    store.write([
      put(tables.servers, {
        ...{ id: there, name: 'there', runtime: 'process', connected: true, draining: false },
        ...{ version: null, lastSeenAtMs: null },
        agent: {
          ...{ bootstrap: null, certificates: [], problem: null, takeover: null },
          ...{ teamId: null, createdAtMs: 0 },
        },
      }),
    ]);
    start();
  });
  afterEach(() => runtime.close());

  function start(): void {
    const logger = recordingLogger();
    runtime = new ActorRuntime({ store, clock, logger, carry: structuredClone });
    runtime.register(serversDefinition({ reader: store, clock, authority: {} as never }));
    runtime.register(appsDefinition());
    runtime.start();
  }

  /** Apps whose moves begin, and end when the test says so. */
  function appsDefinition(): ActorDefinition<AppProtocol> {
    const activate: ActorDefinition<AppProtocol>['activate'] = ({ ref }) =>
      ({
        move: () => {
          asked.push(ref.id);
          moves(ref.id, there, here);
          return store.get(tables.apps, ref.id);
        },
      }) as unknown as Actor<AppProtocol>;
    return { kind: appActor, activate };
  }

  function write(id: string, serverId: string, move?: MoveRecord): void {
    const app = {
      id,
      serverId,
      uid: 0,
      slug: id,
      name: id,
      run: { draining: [] },
      deletedAtMs: null,
    };
    store.write([put(tables.apps, { ...app, ...(move && { move }) } as unknown as AppRecord)]);
  }
  const moveOf = (fromServerId: string, toServerId: string): MoveRecord => ({
    ...{ fromServerId, toServerId, fromUid: 0, toUid: 0, phase: 'copying', bytes: 0, error: null },
    ...{ hasLeftover: false, startedAtMs: 0, endedAtMs: null },
  });
  const moves = (id: string, from: string, to: string): void => write(id, from, moveOf(from, to));
  async function ends(
    id: string,
    from: string,
    to: string,
    phase: 'done' | 'failed',
  ): Promise<void> {
    const move = { ...moveOf(from, to), phase, endedAtMs: 1 };
    write(id, phase === 'done' ? to : from, { ...move, hasLeftover: true });
    await clock.advance(1_000);
    write(id, phase === 'done' ? to : from, move);
    await clock.advance(1_000);
  }
  const remove = () => runtime.ask(servers, { type: 'remove', serverId: there, force: true });
  const isThere = (): boolean => store.get(tables.servers, there) !== undefined;

  it('goes on until nothing is there, also of what was on its way there', async () => {
    write('app_1', there);
    moves('app_2', here, there);
    assert.equal(await remove(), false);
    await clock.advance(1_000);
    assert.deepEqual(asked, []);
    // What came before it was drained is moved as all else.
    await ends('app_2', here, there, 'done');
    assert.deepEqual(asked, ['app_1']);
    write('app_3', there);
    await ends('app_1', there, here, 'done');
    assert.deepEqual(asked, ['app_1', 'app_2']);
    await ends('app_2', there, here, 'done');
    assert.ok(isThere());
    await ends('app_3', there, here, 'done');
    assert.ok(!isThere());
  });

  it('waits for what may come back', async () => {
    const move: MoveRecord = { ...moveOf(there, here), phase: 'starting' };
    write('app_1', here, move);
    assert.equal(await remove(), false);
    await runtime.close();
    start();
    await runtime.ask(servers, { type: 'agents-away' });
    await clock.advance(1_000);
    assert.ok(isThere());
    await ends('app_1', there, here, 'failed');
    assert.deepEqual(asked, ['app_1']);
    await ends('app_1', there, here, 'failed');
    const { agent } = store.get(tables.servers, there) ?? assert.fail();
    assert.match(agent?.problem ?? '', /^app_1 is not moved/);
  });

  it('waits for no removal at a third server, and for none on one that went away', async () => {
    const done = { phase: 'done', endedAtMs: 1, hasLeftover: true } as const;
    write('app_1', there, { ...moveOf('srv_third', there), ...done });
    assert.equal(await remove(), false);
    await clock.advance(1_000);
    assert.deepEqual(asked, ['app_1']);
    write('app_1', here, { ...moveOf(there, here), ...done });
    await clock.advance(1_000);
    assert.ok(isThere());
    await runtime.ask(servers, { type: 'agent-lost', serverId: there });
    await clock.advance(1_000);
    const { agent } = store.get(tables.servers, there) ?? assert.fail();
    assert.match(agent?.problem ?? '', /^It went away before the files of app_1/);
  });
});
