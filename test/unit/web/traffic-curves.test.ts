import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  trafficCurves,
  type TrafficSample,
  trafficSums,
} from '../../../web/pages/app/metrics/traffic-curves.ts';

const until = Date.parse('2026-01-02T03:04:20.000Z');

function sample(at: string, more: Partial<TrafficSample> = {}): TrafficSample {
  return {
    ...{ at, requests: 0, bytesIn: 0, bytesOut: 0, p50Ms: null, p95Ms: null, p99Ms: null },
    ...{ answered2xx: 0, answered3xx: 0, answered4xx: 0, answered5xx: 0 },
    ...{ answeredByEdge: 0, aborted: 0 },
    ...more,
  };
}

const busy = sample('2026-01-02T03:04:10.000Z', {
  ...{ requests: 25, answered2xx: 20, answered5xx: 5 },
  ...{ bytesIn: 100, bytesOut: 2_000, p50Ms: 4, p95Ms: 9, p99Ms: 12 },
});

describe('trafficCurves()', () => {
  it('has a value for each span: a rate, zero where nobody asked, and no duration there', () => {
    const { times, requests, durations, bytes } = trafficCurves([busy], 15, until);
    assert.equal(times.length, 90);
    assert.deepEqual(times.slice(-2), ['2026-01-02T03:04:10.000Z', '2026-01-02T03:04:20.000Z']);
    const ends = (curves: typeof requests) =>
      curves.map(({ label, values }) => [label, values.slice(-2)]);
    assert.deepEqual(ends(requests), [
      ['2xx', [2, 0]],
      ['5xx', [0.5, 0]],
    ]);
    assert.deepEqual(ends(durations), [
      ['half', [4, null]],
      ['95 %', [9, null]],
      ['99 %', [12, null]],
    ]);
    assert.deepEqual(ends(bytes), [
      ['in', [10, 0]],
      ['out', [200, 0]],
    ]);
  });

  it('takes the spans that the API has for longer times', () => {
    for (const [minutes, spanS] of [
      [60, 10],
      [360, 60],
      [1_440, 240],
    ] as const) {
      const { times, requests } = trafficCurves([busy], minutes, until);
      assert.equal(times.length, 360);
      const rates = requests[0]?.values ?? [];
      assert.equal(Math.max(...rates.map((rate) => rate ?? 0)), 20 / spanS);
    }
  });
});

describe('trafficSums()', () => {
  it('counts as failed what the app answered with 5xx, and the edge in its place', () => {
    const away = sample('2026-01-02T03:04:20.000Z', { requests: 3, answeredByEdge: 3 });
    assert.deepEqual(trafficSums([busy, away]), {
      ...{ requests: 28, failed: 8, bytesIn: 100, bytesOut: 2_000 },
    });
    assert.equal(trafficSums([]).requests, 0);
  });
});
