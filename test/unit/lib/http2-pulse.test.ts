import assert from 'node:assert/strict';
import { describe, it } from 'node:test';

import { Pulse } from '../../../src/lib/http2-pulse.ts';
import { ManualClock } from '../../support/manual-clock.ts';

interface World {
  pulse: Pulse;
  clock: ManualClock;
  /** What was told, in order. */
  told: string[];
  hear: () => void;
}

/** Nobody answers it. */
function pulsing(): World {
  const clock = new ManualClock();
  const told: string[] = [];
  let received = 0;
  const pulse = new Pulse({
    session: { ping: () => true, closed: false, destroyed: false },
    received: () => received,
    clock,
    onGone: () => told.push('gone'),
    silenceMs: 8_000,
  });
  return { pulse, clock, told, hear: () => (received += 1) };
}

describe('who expects a sign of the other side', () => {
  it('hears of silence once', async () => {
    const { pulse, clock, told } = pulsing();
    pulse.expect(2_000, () => told.push('silent'));
    await clock.advance(1_900);
    assert.deepEqual(told, []);
    await clock.advance(5_000);
    assert.deepEqual(told, ['silent']);
  });

  it('hears nothing behind a sign', async () => {
    const { pulse, clock, told, hear } = pulsing();
    pulse.expect(2_000, () => told.push('silent'));
    await clock.advance(1_000);
    hear();
    await clock.advance(5_000);
    assert.deepEqual(told, []);
  });

  it('hears at once when the connection ends of silence', async () => {
    const { pulse, clock, told } = pulsing();
    await clock.advance(7_500);
    pulse.expect(2_000, () => told.push('silent'));
    await clock.advance(600);
    assert.deepEqual(told, ['silent', 'gone']);
    await clock.advance(10_000);
    assert.deepEqual(told, ['silent', 'gone']);
  });

  it('hears nothing when it ends of anything else', async () => {
    const { pulse, clock, told } = pulsing();
    pulse.expect(2_000, () => told.push('silent'));
    pulse.close();
    await clock.advance(10_000);
    assert.deepEqual(told, []);
  });
});
