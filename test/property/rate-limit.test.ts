import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { networkOf } from '../../src/lib/networks.ts';
import { RateLimit } from '../../src/lib/rate-limit.ts';
import { newLimitMemory, ThreadLimits } from '../../src/threads/shared-limits.ts';
import { ManualClock } from '../support/manual-clock.ts';

const burst = 5;
const windowMs = 60_000;
const keysMax = 20;

/** What others do meanwhile: any number of addresses, as often as they like. */
const flood = fc.array(fc.tuple(fc.nat(500), fc.nat(12)), { maxLength: 60 });
const steps = fc.array(fc.record({ flood, restMs: fc.nat(30_000) }), { maxLength: 30 });

describe('RateLimit', () => {
  it('holds no more than its keys, whoever comes how often', async () => {
    await fc.assert(
      fc.asyncProperty(steps, async (all) => {
        const clock = new ManualClock();
        const limit = new RateLimit({ burst, windowMs, keysMax, clock });
        for (const step of all) {
          for (const [who, times] of step.flood) {
            for (let i = 0; i < times; i++) limit.take(`flood ${String(who)}`);
            assert.ok(limit.size <= keysMax);
          }
          await clock.advance(step.restMs);
        }
      }),
    );
  });

  it('never refuses who keeps to the pace, whatever others do', async () => {
    await fc.assert(
      fc.asyncProperty(steps, async (all) => {
        const clock = new ManualClock();
        const limit = new RateLimit({ burst, windowMs, keysMax, clock });
        for (const step of all) {
          for (const [who, times] of step.flood) {
            for (let i = 0; i < times; i++) limit.take(`flood ${String(who)}`);
          }
          assert.equal(limit.take('honest'), 0);
          await clock.advance(windowMs / burst + step.restMs);
        }
      }),
    );
  });

  it('lets nobody who is remembered have more than a burst and what refills', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.nat(20_000), { maxLength: 100 }), async (rests) => {
        const clock = new ManualClock();
        const limit = new RateLimit({ burst, windowMs, keysMax, clock });
        const begunMs = clock.now();
        let allowed = 0;
        for (const restMs of rests) {
          const waitS = limit.take('eager');
          if (waitS === 0) allowed += 1;
          else assert.ok(waitS >= 1 && waitS <= Math.ceil(windowMs / burst / 1_000));
          await clock.advance(restMs);
        }
        const passedMs = clock.now() - begunMs;
        assert.ok(allowed <= burst + (passedMs / windowMs) * burst + 1);
      }),
    );
  });
});

describe('networkOf()', () => {
  it('is one for all of a /64 and another for the next', () => {
    const group = fc.integer({ min: 0, max: 0xffff }).map((value) => value.toString(16));
    const half = fc.tuple(group, group, group, group);
    fc.assert(
      fc.property(half, half, half, (network, one, other) => {
        const address = (host: string[]): string => [...network, ...host].join(':');
        assert.equal(networkOf(address(one)), networkOf(address(other).toUpperCase()));
        const [a, b, c, d] = network;
        const next = ((Number.parseInt(d, 16) + 1) & 0xffff).toString(16);
        assert.notEqual(networkOf(address(one)), networkOf([a, b, c, next, ...one].join(':')));
      }),
    );
  });
});

describe('ThreadLimits', () => {
  const act = fc.oneof(
    fc.record({ what: fc.constant('take' as const), key: fc.nat(3), thread: fc.nat(1) }),
    fc.record({
      what: fc.constant('charge' as const),
      key: fc.nat(3),
      thread: fc.nat(1),
      count: fc.nat(8),
    }),
    fc.record({ what: fc.constant('forgive' as const), key: fc.nat(3), thread: fc.nat(1) }),
    fc.record({ what: fc.constant('rest' as const), ms: fc.nat(30_000) }),
  );

  it('allow, over all threads together, what a limit of one thread allows', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(act, { maxLength: 80 }), async (acts) => {
        const clock = new ManualClock();
        const memory = newLimitMemory(64);
        const nowUs = (): bigint => BigInt(clock.now()) * 1_000n;
        const limits = [0, 1].map(() =>
          new ThreadLimits(memory, nowUs).newLimit('calls', { burst, windowMs }),
        );
        const model = new RateLimit({ burst, windowMs, keysMax, clock });
        for (const one of acts) {
          if (one.what === 'rest') {
            await clock.advance(one.ms);
            continue;
          }
          const limit = limits[one.thread] ?? assert.fail();
          const key = `key ${String(one.key)}`;
          if (one.what === 'take') assert.equal(limit.take(key), model.take(key));
          else if (one.what === 'forgive') [limit, model].forEach((each) => each.forgive(key));
          else [limit, model].forEach((each) => each.charge(key, one.count));
          assert.equal(limit.waitS(key), model.waitS(key));
        }
      }),
    );
  });
});
