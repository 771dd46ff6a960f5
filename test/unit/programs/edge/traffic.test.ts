import assert from 'node:assert/strict';
import { beforeEach, describe, it } from 'node:test';

import { type AppCounts, Traffic } from '../../../../src/programs/edge/traffic.ts';
import { trafficAt, trafficClasses, type TrafficReport } from '../../../../src/protocol/traffic.ts';
import { ManualClock } from '../../../support/manual-clock.ts';

const outcome = { status: 200, byEdge: false, bytesIn: 0, bytesOut: 0, ms: 1 };
const routeOf = (id: string) => ({ host: `${id}.localhost`, targets: [], app: { id, name: id } });

describe('Traffic', () => {
  let clock: ManualClock;
  let told: TrafficReport[][];
  let traffic: Traffic;
  beforeEach(() => {
    clock = new ManualClock();
    told = [];
    traffic = new Traffic({ clock, tell: (reports) => told.push(reports) });
    traffic.follow([routeOf('app_a'), routeOf('app_b'), { host: 'c.localhost', targets: [] }]);
  });
  const countsOf = (app: string): AppCounts => {
    const counts = traffic.of(app);
    assert.ok(counts);
    return counts;
  };
  const classesOf = (report: TrafficReport | undefined): Record<string, number> =>
    Object.fromEntries(
      trafficClasses
        .map((name, at): [string, number] => [name, report?.counts[at] ?? 0])
        .filter(([, count]) => count > 0),
    );

  it('counts by class what the app answered, the edge answered, and nobody answered', () => {
    const counts = countsOf('app_a');
    for (const status of [200, 299, 304, 404, 500, 599]) counts.finished({ ...outcome, status });
    counts.finished({ ...outcome, status: 503, byEdge: true });
    counts.finished({ ...outcome, status: 0 });
    counts.finished({ ...outcome, status: 0, byEdge: true });
    traffic.flush();
    assert.deepEqual(classesOf(told[0]?.[0]), {
      '2xx': 2,
      '3xx': 1,
      '4xx': 1,
      '5xx': 2,
      edge: 1,
      aborted: 2,
    });
  });

  it('puts durations of answers of the app into spans, and adds up bytes', () => {
    const counts = countsOf('app_a');
    for (const ms of [0, 5, 6, 60_000, 60_001]) counts.finished({ ...outcome, ms, bytesIn: 3 });
    counts.finished({ ...outcome, ms: 7, byEdge: true, status: 502, bytesOut: 10 });
    counts.finished({ ...outcome, ms: 7, status: 0 });
    traffic.flush();
    const all = told[0]?.[0]?.counts ?? [];
    const spans = all.slice(trafficAt.durations, trafficAt.seconds);
    assert.deepEqual(spans, [2, 1, ...Array<number>(10).fill(0), 1, 1]);
    assert.equal(all[trafficAt.seconds], 120.012);
    assert.equal(all[trafficAt.bytesIn], 15);
    assert.equal(all[trafficAt.bytesOut], 10);
  });

  it('tells once a second what changed since, with all counts, and nothing else', async () => {
    countsOf('app_a').finished(outcome);
    countsOf('app_a').finished(outcome);
    await clock.advance(999);
    assert.equal(told.length, 0);
    await clock.advance(1);
    assert.deepEqual(
      told.map((one) => one.map(({ app }) => app)),
      [['app_a']],
    );
    await clock.advance(10_000);
    assert.equal(told.length, 1);
    countsOf('app_b').socketOpened();
    countsOf('app_a').finished(outcome);
    await clock.advance(1000);
    assert.deepEqual(
      told[1]?.map((one) => [one.app, classesOf(one)['2xx'] ?? 0, one.sockets]),
      [
        ['app_b', 0, 1],
        ['app_a', 3, 0],
      ],
    );
  });

  it('goes on with its counts as long as routes lead to the app, and begins anew behind that', () => {
    const before = countsOf('app_a');
    traffic.follow([routeOf('app_b'), routeOf('app_a'), { ...routeOf('app_a'), host: 'x.test' }]);
    assert.equal(countsOf('app_a'), before);
    traffic.follow([routeOf('app_b')]);
    assert.equal(traffic.of('app_a'), undefined);
    before.finished(outcome); // Of a request that was under way.
    traffic.follow([routeOf('app_a'), routeOf('app_b')]);
    countsOf('app_a').finished(outcome);
    traffic.flush();
    assert.deepEqual(
      told[0]?.map((one) => [one.app, classesOf(one)]),
      [['app_a', { '2xx': 1 }]],
    );
    assert.ok(told.flat().every(({ life }) => life !== before.life));
  });
});
