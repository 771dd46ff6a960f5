/**
 * Owns the numbers of the service, and their text for Prometheus.
 *
 * 1. Counting a request is a few additions into arrays; the text is made on demand.
 * 2. Labels are bounded: route templates, known methods, status classes.
 * 3. Other parts add their own numbers by `register`; they are read when somebody asks.
 */
import type { ErrorCode } from '../lib/errors.ts';
import { encodeMetrics, mergeFamilies, type MetricFamily, type Sample } from './metrics-text.ts';

export type MetricSource = () => Iterable<MetricFamily>;
/** Reads the numbers of another thread or process, which are added to ours. */
export type RemoteMetrics = () => Promise<readonly MetricFamily[]>;

/** Why an answer was dropped: it came too late, or was the second one. */
export type DroppedAnswer = 'late' | 'again';

/** Upper bounds in seconds, for the histogram of durations. */
const bucketsS = [0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 10, 60];
const statusClasses = ['aborted', '1xx', '2xx', '3xx', '4xx', '5xx'];
const knownMethods = new Set(['GET', 'POST', 'DELETE', 'HEAD', 'PUT', 'PATCH', 'OPTIONS']);

/** The counts of one route and method. */
export class RouteCounts {
  readonly route: string;
  readonly method: string;
  readonly byClass = new Float64Array(statusClasses.length);
  readonly buckets = new Float64Array(bucketsS.length + 1);
  seconds = 0;
  bytes = 0;

  constructor(route: string, method: string) {
    this.route = route;
    this.method = method;
  }

  /** `durationMs` is null for streams and constant answers, which are not timed. */
  count(status: number, aborted: boolean, bytes: number, durationMs: number | null): void {
    const index = aborted ? 0 : Math.floor(status / 100);
    this.byClass[index] = (this.byClass[index] ?? 0) + 1;
    this.bytes += bytes;
    if (durationMs === null) return;
    const seconds = durationMs / 1000;
    let bucket = 0;
    while (bucket < bucketsS.length && seconds > (bucketsS[bucket] ?? Infinity)) bucket += 1;
    this.buckets[bucket] = (this.buckets[bucket] ?? 0) + 1;
    this.seconds += seconds;
  }
}

export class Metrics {
  readonly #routes = new Map<string, Map<string, RouteCounts>>();
  readonly #refusals = new Map<ErrorCode, number>();
  readonly #dropped: Record<DroppedAnswer, number> = { late: 0, again: 0 };
  readonly #sources: MetricSource[] = [];
  readonly #remotes: RemoteMetrics[] = [];
  #process: Promise<() => Promise<string>> | undefined;

  /** The counts of a route; '' for requests that match none. Unknown methods share one row. */
  route(template: string, method: string): RouteCounts {
    return this.#routes.get(template)?.get(method) ?? this.#newRoute(template, method);
  }

  #newRoute(template: string, method: string): RouteCounts {
    const name = knownMethods.has(method) ? method : 'other';
    const ofTemplate = this.#routes.get(template) ?? new Map<string, RouteCounts>();
    this.#routes.set(template, ofTemplate);
    const counts = ofTemplate.get(name) ?? new RouteCounts(template || 'unmatched', name);
    ofTemplate.set(name, counts);
    return counts;
  }

  /** Counts an answer that was an error, so that every limit that is reached shows. */
  refused(code: ErrorCode): void {
    this.#refusals.set(code, (this.#refusals.get(code) ?? 0) + 1);
  }

  /** Counts an answer that nobody waited for. */
  dropped(why: DroppedAnswer): void {
    this.#dropped[why] += 1;
  }

  register(source: MetricSource): void {
    this.#sources.push(source);
  }

  registerRemote(source: RemoteMetrics): void {
    this.#remotes.push(source);
  }

  /** The numbers of this thread. */
  families(): MetricFamily[] {
    return [...this.#requestFamilies(), ...this.#sources.flatMap((one) => [...one()])];
  }

  /** Everything in Prometheus' text format 0.0.4. */
  async text(): Promise<string> {
    this.#process ??= loadProcessMetrics();
    const remote = await Promise.all(this.#remotes.map((one) => one()));
    const own = this.families();
    const families = remote.length === 0 ? own : mergeFamilies([...own, ...remote.flat()]);
    const processText = await (await this.#process)();
    return encodeMetrics(families) + processText;
  }

  #requestFamilies(): MetricFamily[] {
    const all = [...this.#routes.values()].flatMap((methods) => [...methods.values()]);
    return [
      {
        name: 'gangway_http_requests_total',
        help: 'Requests answered or abandoned, by route, method and class of status.',
        type: 'counter',
        samples: all.flatMap(classSamples),
      },
      {
        name: 'gangway_http_response_bytes_total',
        help: 'Bytes of answer bodies.',
        type: 'counter',
        samples: all.map((one) => ({ labels: labelsOf(one), value: one.bytes })),
      },
      {
        name: 'gangway_http_request_duration_seconds',
        help: 'From the head of the request to the end of the answer; streams left out.',
        type: 'histogram',
        samples: all.flatMap(durationSamples),
      },
      {
        name: 'gangway_problems_total',
        help: 'Answers that were errors of the service, by code.',
        type: 'counter',
        samples: [...this.#refusals].map(([code, value]) => ({ labels: { code }, value })),
      },
      {
        name: 'gangway_http_dropped_answers_total',
        help: 'Answers of handlers that came too late, or again.',
        type: 'counter',
        samples: Object.entries(this.#dropped).map(([why, value]) => ({ labels: { why }, value })),
      },
    ];
  }
}

function labelsOf(counts: RouteCounts): Record<string, string> {
  return { route: counts.route, method: counts.method };
}

function classSamples(counts: RouteCounts): Sample[] {
  return statusClasses.flatMap((status, index) => {
    const value = counts.byClass[index] ?? 0;
    return value === 0 ? [] : [{ labels: { ...labelsOf(counts), status }, value }];
  });
}

function durationSamples(counts: RouteCounts): Sample[] {
  const labels = labelsOf(counts);
  let below = 0;
  const buckets = [...counts.buckets].map((value, index): Sample => {
    below += value;
    const le = index < bucketsS.length ? String(bucketsS[index]) : '+Inf';
    return { suffix: '_bucket', labels: { ...labels, le }, value: below };
  });
  if (below === 0) return [];
  return [
    ...buckets,
    { suffix: '_sum', labels, value: counts.seconds },
    { suffix: '_count', labels, value: below },
  ];
}

/** Memory, CPU, event loop lag and garbage collections. The module is loaded when first needed. */
async function loadProcessMetrics(): Promise<() => Promise<string>> {
  const { collectDefaultMetrics, Registry } = await import('prom-client');
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  return () => registry.metrics();
}
