import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';

import { Engine } from '../../../../src/drivers/docker/engine/engine.ts';
import { Names } from '../../../../src/drivers/docker/engine/names.ts';
import { Swarm } from '../../../../src/drivers/swarm/swarm.ts';
import { systemClock } from '../../../../src/lib/clock.ts';
import { hangingDaemon } from '../../../support/hanging-daemon.ts';
import type { HangingDaemon } from '../../../support/hanging-daemon.ts';

const nodeOf = (id: string, state: string, availability: string): object => ({
  ID: id,
  Spec: { Availability: availability },
  Description: { Hostname: `host-${id}`, Engine: { EngineVersion: '20.10.24' } },
  Status: { State: state, Addr: '10.0.0.1' },
});

describe('a swarm of several nodes', () => {
  let daemon: HangingDaemon;
  let engine: Engine;
  let swarm: Swarm;
  before(async () => {
    daemon = await hangingDaemon();
    const { socket } = daemon;
    engine = new Engine({ socket, clock: systemClock, requestTimeoutMs: 5000 });
    swarm = new Swarm(engine, new Names('unit'));
  });
  after(async () => {
    engine.close();
    await daemon.close();
  });

  const isNode = (id: string): void => {
    daemon.answer(/^GET \/info/, { Swarm: { NodeID: id, ControlAvailable: true } });
  };

  it('names them all, and the one that is asked once', async () => {
    isNode('b');
    daemon.answer(/^GET \/nodes/, [
      nodeOf('a', 'ready', 'drain'),
      nodeOf('b', 'ready', 'active'),
      nodeOf('c', 'down', 'pause'),
    ]);
    const version = '20.10.24';
    assert.deepEqual(await swarm.servers(), [
      { id: 'a', name: 'host-a', isOwn: false, connected: true, draining: true, version },
      { id: 'b', name: 'host-b', isOwn: true, connected: true, draining: false, version },
      { id: 'c', name: 'host-c', isOwn: false, connected: false, draining: true, version },
    ]);
  });

  it('is asked for its own node each time, which may be another one', async () => {
    for (const id of ['b', 'd']) {
      isNode(id);
      assert.equal(await swarm.ownNode(), id);
    }
  });
});
