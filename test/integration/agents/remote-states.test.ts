/** States of workloads that an agent tells which means harm: what they may be, and how many at a time. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';

import type { DriverEvent } from '../../../src/drivers/driver.ts';
import { eventually } from '../../support/eventually.ts';
import { lying, workloadOf } from '../../support/lying-runner.ts';
import { ManualClock, settle } from '../../support/manual-clock.ts';

describe('the driver before an agent that tells states', () => {
  const exit = { code: 1, signal: null, reason: 'exited', detail: null, atMs: 1 };
  const waiting = { phase: 'waiting', restarts: 1, nextStartAtMs: 2, lastExit: exit };

  it('takes of a workload what one is made of, and gives up a connection on which it is none', async (t) => {
    let list: unknown[] = [];
    const { driver, events, tell } = await lying(t, () => ({ ok: list }));
    const count = (type: DriverEvent['type']): number =>
      events.filter((event) => event.type === type).length;
    const own = workloadOf('a-1', 'app_own');
    const { id, owner, kind, port } = own.spec;
    tell({ event: 'state', workload: { ...own, state: { ...waiting, more: 1 }, more: 1 } });
    await eventually('it is heard', () => count('state') === 1);
    const workload = { spec: { id, owner, kind, port }, state: waiting };
    assert.deepEqual(events.at(-1), { type: 'state', workload });
    const exits = [
      { ...exit, detail: 'x'.repeat(2001) },
      { ...exit, signal: 'x'.repeat(2001) },
      { ...exit, code: 256 },
      { ...exit, code: '1' },
      { ...exit, atMs: 1e300 },
      { ...exit, atMs: NaN },
      { ...exit, reason: 'other' },
    ];
    const states = [
      { ...waiting, restarts: 0.5 },
      { ...waiting, nextStartAtMs: Infinity },
      ...exits.map((lastExit) => ({ ...waiting, lastExit })),
      ...exits.map((one) => ({ phase: 'ended', exit: one })),
    ];
    for (const state of states) {
      const before = count('connected');
      tell({ event: 'state', workload: { ...own, state } });
      await eventually('it is connected anew', () => count('connected') > before);
    }
    assert.equal(count('state'), 1);
    list = [{ ...own, state: states[0] }];
    await assert.rejects(driver.list(), { code: 'AGENT_UNREACHABLE' });
  });

  it('waits when it tells states on and on, and none is lost', async (t) => {
    const clock = new ManualClock();
    const { events, tell } = await lying(t, () => ({ ok: [] }), { clock });
    const own = workloadOf('a-1', 'app_own');
    const heard = (): number[] =>
      events.flatMap((event) =>
        event.type === 'state' && event.workload.state.phase === 'waiting'
          ? [event.workload.state.restarts]
          : [],
      );
    for (let restarts = 0; restarts < 1_150; restarts++) {
      tell({ event: 'state', workload: { ...own, state: { ...waiting, restarts } } });
    }
    for (const count of [1_000, 1_100, 1_150]) {
      await eventually(`${String(count)} are heard`, () => heard().length >= count);
      await settle();
      assert.equal(heard().length, count);
      await clock.advance(1_000);
    }
    assert.deepEqual(
      heard(),
      Array.from({ length: 1_150 }, (_, i) => i),
    );
  });
});
