import assert from 'node:assert/strict';
import { describe, it } from 'node:test';

import { reach } from '../../../../src/actors/workload/reach.ts';
import { ServiceError } from '../../../../src/lib/errors.ts';
import { ManualClock } from '../../../support/manual-clock.ts';

const secondMs = 1_000;

/**
 * Calls of which each is refused after these milliseconds, the last figure again and again; with how
 * long all that took.
 */
async function refusedAfter(...waits: readonly [number, ...number[]]) {
  const clock = new ManualClock();
  const beganMs = clock.now();
  const refusal = new ServiceError('AGENT_UNREACHABLE', 'It is not there.');
  let calls = 0;
  const state = { isOver: false };
  const over = reach(clock, new AbortController().signal, async () => {
    const waitMs = waits[Math.min(calls++, waits.length - 1)] ?? 0;
    await new Promise<void>((resolve) => clock.after(waitMs, resolve));
    throw refusal;
  }).finally(() => {
    state.isOver = true;
  });
  const outcome = assert.rejects(over, refusal);
  let tookMs = 0;
  while (!state.isOver) {
    await clock.advance(secondMs / 2);
    tookMs = clock.now() - beganMs;
  }
  await outcome;
  return { calls, tookMs };
}

describe('reach()', () => {
  it('calls again for half a minute what is refused at once', async () => {
    const { calls, tookMs } = await refusedAfter(0);
    assert.ok(calls > 50, String(calls));
    assert.ok(tookMs >= 30 * secondMs && tookMs <= 31 * secondMs, String(tookMs));
  });

  it('counts what a driver waited before it refused', async () => {
    const { calls, tookMs } = await refusedAfter(20 * secondMs);
    assert.equal(calls, 2);
    assert.ok(tookMs <= 41 * secondMs, String(tookMs));
  });

  it('has all its patience left for what was at work for long', async () => {
    const { tookMs } = await refusedAfter(300 * secondMs, 0);
    assert.ok(tookMs >= 330 * secondMs, String(tookMs));
  });

  it('does not repeat what is refused otherwise', async () => {
    let calls = 0;
    const call = (): Promise<never> => {
      calls++;
      return Promise.reject(new ServiceError('NOT_FOUND', 'No such app.'));
    };
    const { signal } = new AbortController();
    await assert.rejects(reach(new ManualClock(), signal, call), { code: 'NOT_FOUND' });
    assert.equal(calls, 1);
  });
});
