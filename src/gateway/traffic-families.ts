/** Owns the numbers of apps' visitors for Prometheus. By app alone: never by host or path. Pure. */
import {
  type AppTraffic,
  durationBoundsS,
  ownTraffic,
  trafficAt,
  trafficClasses,
  type TrafficCounts,
} from '../protocol/traffic.ts';
import type { MetricFamily, Sample } from './metrics-text.ts';

const answered = trafficClasses.slice(0, 4);

/** `traffic`: by the ids of apps. */
export function trafficFamilies(traffic: ReadonlyMap<string, AppTraffic>): MetricFamily[] {
  const all = [...traffic].filter(([app]) => app !== ownTraffic);
  return [
    {
      name: 'gangway_app_requests_total',
      help: 'Requests of visitors by app and class of status; edge: answered in its place, aborted: without an answer.',
      type: 'counter',
      samples: all.flatMap(([app, { counts }]) =>
        trafficClasses.map((name, at) => ({
          labels: { app, class: name },
          value: counts[trafficAt.classes + at] ?? 0,
        })),
      ),
    },
    {
      name: 'gangway_app_request_duration_seconds',
      help: "From the head of a request to the end of the app's answer; what the edge answered left out.",
      type: 'histogram',
      samples: all.flatMap(([app, { counts }]) => durationSamples(app, counts)),
    },
    {
      name: 'gangway_app_bytes_total',
      help: 'Bytes of bodies and WebSockets between visitors and apps.',
      type: 'counter',
      samples: all.flatMap(([app, { counts }]) => [
        { labels: { app, direction: 'in' }, value: counts[trafficAt.bytesIn] ?? 0 },
        { labels: { app, direction: 'out' }, value: counts[trafficAt.bytesOut] ?? 0 },
      ]),
    },
    {
      name: 'gangway_app_websockets',
      help: 'WebSockets open now.',
      type: 'gauge',
      samples: all.map(([app, { sockets }]) => ({ labels: { app }, value: sockets })),
    },
    {
      name: 'gangway_edge_requests_total',
      help: 'Requests that the edge answered by itself, before it was said whose they are, by class of status.',
      type: 'counter',
      samples: answered.map((name, at) => ({
        labels: { class: name },
        value: traffic.get(ownTraffic)?.counts[trafficAt.classes + at] ?? 0,
      })),
    },
  ];
}

function durationSamples(app: string, counts: TrafficCounts): Sample[] {
  let below = 0;
  const buckets = [...durationBoundsS, Infinity].map((bound, at): Sample => {
    below += counts[trafficAt.durations + at] ?? 0;
    const le = bound === Infinity ? '+Inf' : String(bound);
    return { suffix: '_bucket', labels: { app, le }, value: below };
  });
  return [
    ...buckets,
    { suffix: '_sum', labels: { app }, value: counts[trafficAt.seconds] ?? 0 },
    { suffix: '_count', labels: { app }, value: below },
  ];
}
