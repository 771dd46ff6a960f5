/** Owns what is drawn of an app's visitors, from the samples that the API has of them. */
import type { ResultOf } from '../../../api/graphql.ts';
import type { AppMetricsQuery } from './documents.ts';

export type TrafficSample = ResultOf<typeof AppMetricsQuery>['traffic'][number];

const classes = [
  { label: '2xx', key: 'answered2xx', colour: '--good-dot' },
  { label: '3xx', key: 'answered3xx', colour: '--strong' },
  { label: '4xx', key: 'answered4xx', colour: '--warn-dot' },
  { label: '5xx', key: 'answered5xx', colour: '--bad-dot' },
  { label: 'by the edge', key: 'answeredByEdge', colour: '--soft' },
  { label: 'aborted', key: 'aborted', colour: '--faint' },
] as const;

interface Curve {
  readonly label: string;
  readonly values: readonly (number | null)[];
  readonly colour?: string;
}

export interface TrafficCurves {
  readonly times: readonly string[];
  /** A second, those that there were any of. */
  readonly requests: readonly Curve[];
  /** Milliseconds. */
  readonly durations: readonly Curve[];
  /** Bytes a second. */
  readonly bytes: readonly Curve[];
}

/**
 * Every span of the time has a value: where nobody asked anything that is zero, and of durations null. `until`:
 * where the curves end, in ms.
 */
export function trafficCurves(
  samples: readonly TrafficSample[],
  minutes: number,
  until: number,
): TrafficCurves {
  const spanMs = spanOf(minutes);
  const slotOf = (ms: number): number => Math.floor(ms / spanMs);
  const bySlot = new Map(samples.map((sample) => [slotOf(Date.parse(sample.at)), sample]));
  const count = (minutes * 60_000) / spanMs;
  const first = slotOf(until) - count + 1;
  const slots = Array.from({ length: count }, (_, at) => first + at);
  const found = slots.map((slot) => bySlot.get(slot));
  const rate = (key: NumberKey) => found.map((one) => ((one?.[key] ?? 0) * 1_000) / spanMs);
  const duration = (key: 'p50Ms' | 'p95Ms' | 'p99Ms') => found.map((one) => one?.[key] ?? null);
  return {
    times: slots.map((slot) => new Date(slot * spanMs).toISOString()),
    requests: classes
      .filter(({ key }) => key === 'answered2xx' || samples.some((one) => one[key] > 0))
      .map(({ key, label, colour }) => ({ label, colour, values: rate(key) })),
    durations: [
      { label: 'half', values: duration('p50Ms') },
      { label: '95 %', values: duration('p95Ms') },
      { label: '99 %', values: duration('p99Ms') },
    ],
    bytes: [
      { label: 'in', values: rate('bytesIn') },
      { label: 'out', values: rate('bytesOut') },
    ],
  };
}

type NumberKey = (typeof classes)[number]['key'] | 'bytesIn' | 'bytesOut';

/** The time that a sample stands for: ten seconds up to an hour, then whole minutes, 360 samples at most. */
function spanOf(minutes: number): number {
  if (minutes <= 60) return 10_000;
  return Math.ceil(minutes / 360) * 60_000;
}

export interface TrafficSums {
  readonly requests: number;
  /** Answered with 5xx, or by the edge in the app's place. */
  readonly failed: number;
  readonly bytesIn: number;
  readonly bytesOut: number;
}

export function trafficSums(samples: readonly TrafficSample[]): TrafficSums {
  const sum = (key: 'requests' | NumberKey): number =>
    samples.reduce((total, sample) => total + sample[key], 0);
  return {
    requests: sum('requests'),
    failed: sum('answered5xx') + sum('answeredByEdge'),
    bytesIn: sum('bytesIn'),
    bytesOut: sum('bytesOut'),
  };
}
