/** Owns what apps and databases use, in the schema. */
import { ServiceError } from '../../lib/errors.ts';
import type { MetricsSample } from '../../metrics/sample-ring.ts';
import { builder } from './builder.ts';
import { appOrDatabase, needs } from './needs.ts';

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
        const count = minutes ?? minutesDefault;
        if (count < 1 || count > minutesMax) {
          throw new ServiceError('BAD_USER_INPUT', `minutes is 1 to ${String(minutesMax)}.`);
        }
        return read.metrics.read((app ?? database).id, Date.now(), count);
      },
    }),
  }),
);
