import assert from 'node:assert/strict';
import { beforeEach, describe, it } from 'node:test';

import {
  durationMs,
  type TrafficSample,
  trafficSamples,
} from '../../../src/metrics/traffic-samples.ts';
import { TrafficWatch } from '../../../src/metrics/traffic-watch.ts';
import {
  type AppTraffic,
  newCounts,
  ownTraffic,
  trafficAt,
} from '../../../src/protocol/traffic.ts';
import { ManualClock, settle } from '../../support/manual-clock.ts';
import { noLog } from '../../support/runner.ts';

const trafficOf = (requests: number): AppTraffic => {
  const counts = newCounts();
  counts[0] = requests;
  return { counts, sockets: 0 };
};

describe('TrafficWatch', () => {
  let clock: ManualClock;
  let told: Map<string, AppTraffic> | Error;
  let asked: number;
  let forgotten: string[];
  /** Holds up forgetting. */
  let held: Promise<void> | undefined;
  let written: [app: string, sample: TrafficSample][];
  let watch: TrafficWatch;
  beforeEach(() => {
    clock = new ManualClock();
    told = new Map();
    asked = 0;
    forgotten = [];
    held = undefined;
    written = [];
    watch = new TrafficWatch({
      driver: {
        traffic: () => {
          asked += 1;
          return told instanceof Error ? Promise.reject(told) : Promise.resolve(new Map(told));
        },
        forgetTraffic: (app) => {
          forgotten.push(app);
          return held ?? Promise.resolve();
        },
      },
      writer: { write: (app, sample) => written.push([app, sample]), rest: () => undefined },
      isApp: (id) => !id.startsWith('app_purged'),
      clock,
      logger: noLog,
    });
  });
  const tick = async (): Promise<void> => {
    await clock.advance(10_000);
    await settle();
  };

  it('writes what came in each ten seconds, and nothing where nothing came', async () => {
    watch.start();
    told = new Map([
      ['app_a', trafficOf(5)],
      [ownTraffic, trafficOf(1)],
    ]);
    await tick();
    assert.equal(written.length, 0); // Nobody knows when these came.
    told = new Map([
      ['app_a', trafficOf(8)],
      ['app_b', trafficOf(2)],
      // The edge's own are no app's: they are kept, and have no samples.
      [ownTraffic, trafficOf(2)],
    ]);
    await tick();
    await tick();
    assert.deepEqual([forgotten, (await watch.now()).has(ownTraffic)], [[], true]);
    assert.deepEqual(
      written.map(([app, { counts }]) => [app, counts[0]]),
      [
        ['app_a', 3],
        ['app_b', 2],
      ],
    );
    watch.close();
  });

  it('tells what it was told last while the runner does not answer', async () => {
    told = new Map([['app_a', trafficOf(5)]]);
    assert.equal((await watch.now()).get('app_a')?.counts[0], 5);
    told = new Error('not there');
    assert.equal((await watch.now()).get('app_a')?.counts[0], 5);
  });

  it('asks once for all who ask at a time', async () => {
    await Promise.all([watch.now(), watch.now()]);
    assert.equal(asked, 1);
    await watch.now();
    assert.equal(asked, 2);
  });

  it('tells nothing of an app that is gone for good, and has it forgotten', async () => {
    told = new Map([
      ['app_purged', trafficOf(5)],
      ['app_a', trafficOf(1)],
    ]);
    assert.deepEqual([...(await watch.now()).keys()], ['app_a']);
    assert.deepEqual(forgotten, ['app_purged']);
  });

  it('waits for nothing to be forgotten, and has so many forgotten at a time', async () => {
    const free = Promise.withResolvers<undefined>();
    held = free.promise;
    told = new Map([['app_a', trafficOf(1)]]);
    for (let at = 0; at < 1_000; at++) told.set(`app_purged_${String(at)}`, trafficOf(1));
    assert.deepEqual([...(await watch.now()).keys()], ['app_a']);
    await watch.now();
    assert.equal(forgotten.length, 1);
    free.resolve(undefined);
    await settle();
    assert.equal(forgotten.length, 20);
    await watch.now();
    await settle();
    assert.equal(forgotten.length, 40);
  });
});

describe('trafficSamples', () => {
  it('keeps the counts in a slot, and adds them up for longer times', () => {
    const counts = newCounts().map((_, at) => at * 1000);
    const slot = Buffer.alloc(trafficSamples.slotBytes);
    trafficSamples.encode({ atMs: 1000, counts }, slot);
    const read = trafficSamples.decode(slot, 1000);
    assert.deepEqual(read, { atMs: 1000, counts });
    const both = trafficSamples.merge([read, { atMs: 2000, counts }]);
    assert.deepEqual(both, { atMs: 2000, counts: counts.map((count) => count * 2) });
  });
});

describe('durationMs()', () => {
  const counts = (...spans: number[]) => {
    const all = newCounts();
    all.set(spans, trafficAt.durations);
    return all;
  };

  it('takes durations between the bounds of a span to be spread evenly', () => {
    assert.equal(durationMs(counts(), 0.5), null);
    assert.equal(durationMs(counts(10), 0.5), 2.5);
    assert.equal(durationMs(counts(50, 0, 50), 0.5), 5);
    assert.equal(durationMs(counts(50, 0, 50), 0.95), 23.5);
  });

  it('says no more than the last bound of what is beyond it', () => {
    assert.equal(durationMs(counts(...Array<number>(13).fill(0), 7), 0.5), 60_000);
  });
});
