import assert from 'node:assert/strict';
import { describe, it } from 'node:test';

import { startFailure, stateOf } from '../../../../src/drivers/swarm/states.ts';
import type { Found } from '../../../../src/drivers/swarm/states.ts';
import type { TaskView } from '../../../../src/drivers/swarm/tasks.ts';

const atMs = Date.parse('2026-11-01T00:00:00Z');

const task = (id: string, status: Partial<TaskView['Status']>): TaskView => ({
  ID: id,
  CreatedAt: `2026-11-01T00:00:0${id}Z`,
  ServiceID: 'service',
  Slot: 1,
  DesiredState: 'running',
  Spec: {},
  Status: { State: 'running', Timestamp: '2026-11-01T00:00:00Z', ...status },
});

const found = (tasks: readonly TaskView[], kind: 'service' | 'job' = 'service'): Found => ({
  service: { ID: 'service', Version: { Index: 1 }, CreatedAt: '2026-11-01T00:00:00Z', Spec: spec },
  known: {
    id: 'a-1',
    owner: 'app_a',
    kind,
    port: null,
    innerPort: null,
    address: null,
    deadlineMs: null,
    stopGraceMs: 0,
  },
  tasks,
  containers: new Map(),
});
const spec = { Name: 'a-1', Labels: {} };

/** What a daemon tells that ended while a container of its own was being kept. */
const gone = {
  State: 'failed',
  Err: 'No such container: a-1.1.x',
  ContainerStatus: { ContainerID: 'x', ExitCode: 0 },
};

describe('what a service means whose container went without the swarm', () => {
  it('is started again, and is no failed start, when it ran', () => {
    const one = found([task('1', { ...gone, Message: 'started' })]);
    assert.equal(startFailure(one, atMs), undefined);
    const state = stateOf(one, undefined, 0);
    assert.ok(state.phase === 'waiting');
    assert.deepEqual(state.lastExit, {
      ...{ code: null, signal: null, reason: 'lost', atMs },
      detail: 'Its container is gone from the swarm.',
    });
  });

  it('is no failed start either when it was about to run', () => {
    const starting = task('1', { ...gone, Message: 'starting' });
    assert.equal(startFailure(found([starting]), atMs), undefined);
    assert.equal(startFailure(found([starting], 'job'), atMs)?.reason, 'failed_to_start');
  });

  it('is a failed start when the next one cannot start', () => {
    const rejected = task('2', { State: 'rejected', Err: 'no such image' });
    const failed = startFailure(
      found([task('1', { ...gone, Message: 'starting' }), rejected]),
      atMs,
    );
    assert.equal(failed?.detail, 'Cannot start it: no such image on the server.');
  });
});
