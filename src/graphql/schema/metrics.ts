/** Owns what apps and databases use, and what visitors of apps ask, in the schema. */
import { ServiceError } from '../../lib/errors.ts';
import { durationMs, type TrafficSample } from '../../metrics/traffic-samples.ts';
import {
  requestsOf,
  trafficAt,
  type TrafficClass,
  trafficClasses,
} from '../../protocol/traffic.ts';
import type { MetricsSample } from '../../metrics/usage-samples.ts';
import { builder } from './builder.ts';
import { appByAppId, appOrDatabase, needs } from './needs.ts';

const minutesMax = 1_440;
const minutesDefault = 60;

const MetricsSampleType = builder.objectRef<MetricsSample>('MetricsSample').implement({
  fields: (t) => ({
    at: t.expose('atMs', { type: 'DateTime', description: 'The end of the time it stands for.' }),
    cpu: t.exposeFloat('cpu', { description: 'In cores: 1.0 is one core, busy all the time.' }),
    memoryBytes: t.exposeFloat('memoryBytes', {
      description: 'Without file contents that the system could give back.',
    }),
    networkInBytes: t.exposeFloat('networkInBytes', {
      nullable: true,
      description: 'Since the sample before; null where it cannot be told apart from others.',
    }),
    networkOutBytes: t.exposeFloat('networkOutBytes', { nullable: true }),
  }),
});

builder.queryField('metrics', (t) =>
  t.field({
    type: [MetricsSampleType],
    ...needs('view_metrics', appOrDatabase, {
      description:
        'The last 1 to 1440 minutes of an app or a database, oldest first, 360 samples at most.',
      args: { minutes: t.arg.int({ defaultValue: minutesDefault }) },
      resolve: ({ app, database }, { minutes }, { read }) => {
        return read.metrics.read((app ?? database).id, Date.now(), minutesOf(minutes));
      },
    }),
  }),
);

function minutesOf(given: number | null | undefined): number {
  const minutes = given ?? minutesDefault;
  if (minutes < 1 || minutes > minutesMax) {
    throw new ServiceError('BAD_USER_INPUT', `minutes is 1 to ${String(minutesMax)}.`);
  }
  return minutes;
}

const TrafficSampleType = builder.objectRef<TrafficSample>('TrafficSample').implement({
  fields: (t) => {
    const count = (at: number, description?: string) =>
      t.float({ ...(description && { description }), resolve: ({ counts }) => counts[at] ?? 0 });
    const ofClass = (name: TrafficClass, description?: string) =>
      count(trafficClasses.indexOf(name), description);
    const duration = (share: number, description: string) =>
      t.float({
        nullable: true,
        description,
        resolve: ({ counts }) => durationMs(counts, share),
      });
    return {
      at: t.expose('atMs', { type: 'DateTime', description: 'The end of the time it stands for.' }),
      requests: t.float({
        description: 'All that ended in that time; those of the six numbers below.',
        resolve: ({ counts }) => requestsOf(counts),
      }),
      answered2xx: ofClass('2xx'),
      answered3xx: ofClass('3xx'),
      answered4xx: ofClass('4xx'),
      answered5xx: ofClass('5xx', 'By the app.'),
      answeredByEdge: ofClass('edge', "In the app's place, as when it did not run."),
      aborted: ofClass('aborted', 'Ended without an answer.'),
      bytesIn: count(trafficAt.bytesIn, 'Of bodies and WebSockets.'),
      bytesOut: count(trafficAt.bytesOut),
      p50Ms: duration(
        0.5,
        'So long half of the answers of the app took at most; null without any.',
      ),
      p95Ms: duration(0.95, 'The same of 95 %.'),
      p99Ms: duration(0.99, 'The same of 99 %.'),
    };
  },
});

builder.queryField('traffic', (t) =>
  t.field({
    type: [TrafficSampleType],
    ...needs('view_metrics', appByAppId, {
      description:
        'What visitors asked of an app in the last 1 to 1440 minutes, oldest first, 360 samples at most; none for times in which nobody did.',
      args: { minutes: t.arg.int({ defaultValue: minutesDefault }) },
      resolve: ({ id }, { minutes }, { read }) =>
        read.metrics.readTraffic(id, Date.now(), minutesOf(minutes)),
    }),
  }),
);
