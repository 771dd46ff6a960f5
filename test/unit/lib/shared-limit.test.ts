import assert from 'node:assert/strict';
import { afterEach, describe, it } from 'node:test';
import { MessageChannel } from 'node:worker_threads';
import { openPortCalls } from '../../../src/lib/port-calls.ts';
import {
  joinLimits,
  type LimitCalls,
  LimitRelay,
  SharedLimits,
  type Spending,
} from '../../../src/lib/shared-limit.ts';
import { eventually } from '../../support/eventually.ts';
import { ManualClock } from '../../support/manual-clock.ts';
import { memoryLogger } from '../../support/memory-logger.ts';

const perMinute = { burst: 10, windowMs: 60_000 };

const opened: { close(): void }[] = [];
afterEach(() => {
  for (const one of opened.splice(0)) one.close();
});

/** A relay and threads that take part, all on one clock that stands until it is moved. */
function setUp(threads = 2) {
  const clock = new ManualClock();
  const relay = new LimitRelay(clock);
  const options = { ...perMinute, clock };
  const join = (): SharedLimits => {
    const { port1, port2 } = new MessageChannel();
    const logger = memoryLogger();
    const home = openPortCalls<LimitCalls, LimitCalls>(port1, { logger });
    const thread = openPortCalls<LimitCalls, LimitCalls>(port2, { logger });
    opened.push(home, thread);
    relay.join(home);
    return joinLimits(thread, clock);
  };
  const all = [relay.limits, ...Array.from({ length: threads }, join)];
  const limits = all.map((one) => one.newLimit('calls', options));
  return { clock, limits };
}

describe('SharedLimit', () => {
  it('counts what is spent on any thread on all of them', async () => {
    const { clock, limits } = setUp();
    const [home, one, other] = limits;
    assert.ok(home && one && other);
    for (let i = 0; i < 10; i += 1) assert.equal(one.take('key'), 0);
    assert.equal(one.take('key'), 6);
    assert.equal(other.waitS('key'), 0, 'it was not told yet');
    await clock.advance(20);
    await eventually('the others were told', () => home.waitS('key') > 0 && other.waitS('key') > 0);
    assert.equal(other.take('key'), 6);
    assert.equal(other.take('another key'), 0);
    home.charge('third key', 12);
    await clock.advance(20);
    await eventually('the threads were told', () => limits.every((l) => l.waitS('third key') > 0));
    assert.equal(one.waitS('third key'), 18);
  });

  it('counts what is spent once, wherever it was spent', async () => {
    const { clock, limits } = setUp(3);
    for (const limit of limits) limit.charge('key', 5);
    await clock.advance(20);
    await eventually('all were told', () => limits.every((limit) => limit.waitS('key') === 66));
    await clock.advance(100);
    for (const limit of limits) assert.equal(limit.waitS('key'), 66);
  });

  it('owes what was overdrawn', async () => {
    const { clock, limits } = setUp();
    for (const limit of limits) for (let i = 0; i < 10; i += 1) assert.equal(limit.take('key'), 0);
    await clock.advance(20);
    await eventually('all were told', () => limits.every((limit) => limit.waitS('key') > 100));
    assert.equal(limits[1]?.waitS('key'), 126);
  });

  it('forgives on all threads what was counted before, and not what comes after', async () => {
    const { clock, limits } = setUp();
    const [home, one, other] = limits;
    assert.ok(home && one && other);
    one.charge('key', 30);
    await clock.advance(20);
    await eventually('all were told', () => limits.every((limit) => limit.waitS('key') > 0));
    other.charge('key', 100);
    other.forgive('key');
    other.charge('key', 10);
    await clock.advance(20);
    await eventually('all were told', () => limits.every((limit) => limit.waitS('key') === 6));
  });

  it('tells nothing while nothing is spent', async () => {
    const clock = new ManualClock();
    const told: (readonly Spending[])[] = [];
    const limits = new SharedLimits({ clock, tell: (spendings) => told.push(spendings) });
    const limit = limits.newLimit('calls', { ...perMinute, clock });
    limits.newLimit('others', { ...perMinute, clock });
    await clock.advance(10_000);
    limits.hear([{ limit: 'calls', forgiven: [], spent: [['key', 10]] }]);
    assert.equal(limit.take('key'), 6);
    await clock.advance(10_000);
    assert.deepEqual(told, []);
    limit.take('a');
    limit.take('a');
    limit.charge('b', 3);
    await clock.advance(10_000);
    assert.deepEqual(told, [
      [
        {
          limit: 'calls',
          forgiven: [],
          spent: [
            ['a', 2],
            ['b', 3],
          ],
        },
      ],
    ]);
  });

  it('remembers a bounded number of keys that others tell of', () => {
    const clock = new ManualClock();
    const limits = new SharedLimits({ clock, tell: () => undefined });
    const limit = limits.newLimit('calls', { ...perMinute, clock, keysMax: 5 });
    const spent = Array.from({ length: 50 }, (_, i) => [`key ${i}`, 1] as const);
    limits.hear([{ limit: 'calls', forgiven: [], spent }]);
    assert.equal(limit.size, 5);
  });
});
