import assert from 'node:assert/strict';
import { rmSync } from 'node:fs';
import { describe, it } from 'node:test';
import type { TestContext } from 'node:test';

import type { Engine } from '../../../../../src/drivers/docker/engine/engine.ts';
import { Names } from '../../../../../src/drivers/docker/engine/names.ts';
import { Networks } from '../../../../../src/drivers/docker/engine/networks.ts';
import { EndNotes } from '../../../../../src/drivers/docker/workloads/end-notes.ts';
import { Workloads } from '../../../../../src/drivers/docker/workloads/workloads.ts';
import { containerSpec } from '../../../../support/docker-place.ts';
import { ManualClock } from '../../../../support/manual-clock.ts';
import { tempDir } from '../../../../support/runner.ts';
import { recordingLogger } from '../../../../support/silent-logger.ts';

const names = new Names('test');
const words = '[FATAL tini (7)] exec /none failed: No such file or directory\n';

/** Workloads over a daemon with one container, of a service, that has run once and ended with 127. */
function given(test: TestContext, Status: string, log: string) {
  const dir = tempDir();
  test.after(() => {
    rmSync(dir, { recursive: true });
  });
  const spec = containerSpec({ id: 'one', command: [], kind: 'service' });
  const view = {
    Id: 'c1',
    RestartCount: 1,
    State: {
      Status,
      // The daemon forgets the code as it starts it again.
      ExitCode: Status === 'running' ? 0 : 127,
      StartedAt: '2026-01-01T00:00:02.000000000Z',
      FinishedAt: '2026-01-01T00:00:01.000000000Z',
    },
    Config: { Labels: names.labelsOf(spec) },
    HostConfig: {},
    NetworkSettings: { Networks: null, Ports: null },
  };
  const stops: object[] = [];
  const container = {
    inspect: () => Promise.resolve(view),
    logs: () => Promise.resolve(Buffer.from(log)),
    stop: (options: object) => Promise.resolve(stops.push(options)),
  };
  const died = { Action: 'die', timeNano: 0, Actor: { Attributes: { exitCode: '127' } } };
  const docker = {
    getContainer: () => container,
    getEvents: () => Promise.resolve([Buffer.from(`${JSON.stringify(died)}\n`)]),
  };
  const ask = (question: (client: typeof docker) => unknown): unknown => question(docker);
  const closed = new AbortController().signal;
  const engine = { closed, ask, begin: ask } as unknown as Engine;
  const parts = { engine, names, clock: new ManualClock(), logger: recordingLogger() };
  const workloads = new Workloads({
    ...parts,
    notes: new EndNotes(dir),
    networks: new Networks(engine, names),
    log: { fileMb: 1, files: 1 },
    defaultPids: 10,
    changed: () => undefined,
  });
  return { workloads, stops };
}

describe('Workloads, of a program that docker-init cannot start', () => {
  for (const status of ['restarting', 'running', 'exited']) {
    it(`say why at the first look, also when the container is ${status} by then`, async (test) => {
      const { workloads, stops } = given(test, status, words);
      // Whoever looks meanwhile is told the same.
      for (const found of await Promise.all([workloads.inspect('one'), workloads.inspect('one')])) {
        assert.equal(found?.state.phase, 'ended');
        assert.equal(found.state.exit.reason, 'failed_to_start');
        assert.match(found.state.exit.detail ?? '', /Cannot start \/none/);
      }
      assert.deepEqual(stops, [{ t: 0 }], 'the daemon tries no more');
    });
  }

  it('leave alone what ended with its code by itself', async (test) => {
    const { workloads, stops } = given(test, 'running', 'sh: none: not found\n');
    const found = await workloads.inspect('one');
    assert.equal(found?.state.phase, 'running');
    assert.equal(found.state.lastExit?.code, 127);
    assert.deepEqual(stops, []);
  });
});
