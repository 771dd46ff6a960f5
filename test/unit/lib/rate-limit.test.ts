import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { RateLimit } from '../../../src/lib/rate-limit.ts';
import { ManualClock } from '../../support/manual-clock.ts';

describe('RateLimit', () => {
  it('allows a burst, then says how long to wait, then allows as it refills', async () => {
    const clock = new ManualClock();
    const limit = new RateLimit({ burst: 3, windowMs: 30_000, clock });
    assert.deepEqual([limit.take('a'), limit.take('a'), limit.take('a')], [0, 0, 0]);
    assert.equal(limit.take('a'), 10);
    await clock.advance(4_000);
    assert.equal(limit.take('a'), 6);
    await clock.advance(6_000);
    assert.equal(limit.take('a'), 0);
    assert.equal(limit.take('a'), 10);
  });

  it('keeps keys apart, and forgives', () => {
    const limit = new RateLimit({ burst: 1, windowMs: 1000, clock: new ManualClock() });
    assert.equal(limit.take('a'), 0);
    assert.equal(limit.take('b'), 0);
    assert.equal(limit.waitS('a'), 1);
    assert.equal(limit.waitS('c'), 0);
    limit.forgive('a');
    assert.equal(limit.take('a'), 0);
  });

  it('counts what turns out to be more, and lets the debt be waited off', async () => {
    const clock = new ManualClock();
    const limit = new RateLimit({ burst: 4, windowMs: 4_000, clock });
    assert.equal(limit.take('a'), 0);
    limit.charge('a', 5);
    limit.charge('a', 0);
    assert.equal(limit.take('a'), 3);
    assert.equal(limit.take('b'), 0);
    await clock.advance(3_000);
    assert.equal(limit.take('a'), 0);
    assert.equal(limit.take('a'), 1);
  });

  it('does not push the end of a wait away when asked again', async () => {
    const clock = new ManualClock();
    const limit = new RateLimit({ burst: 1, windowMs: 10_000, clock });
    limit.take('a');
    for (let i = 0; i < 10; i++) {
      assert.equal(limit.take('a'), 10 - i);
      await clock.advance(1000);
    }
    assert.equal(limit.take('a'), 0);
  });

  it('holds no more than its keys, dropping what is full or longest unused', async () => {
    const clock = new ManualClock();
    const limit = new RateLimit({ burst: 2, windowMs: 1000, keysMax: 10, clock });
    for (let i = 0; i < 100; i++) limit.take(`key${i}`);
    assert.equal(limit.size, 10);
    await clock.advance(1000);
    limit.take('last');
    assert.equal(limit.size, 1);
  });
});
