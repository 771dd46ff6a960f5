/** Owns what apps and databases use, in the schema. */
import { ServiceError } from '../../lib/errors.ts';
import type { MetricsSample } from '../../metrics/sample-ring.ts';
import { requireApp, requireDatabase } from '../access.ts';
import type { GraphContext } from '../context.ts';
import type { Builder } from './builder.ts';

const minutesMax = 1_440;
const minutesDefault = 60;

export function addMetrics(builder: Builder) {
  const sample = builder.objectRef<MetricsSample>('MetricsSample').implement({
    fields: (t) => ({
      at: t.field({
        type: 'DateTime',
        description: 'The end of the time it stands for.',
        resolve: ({ atMs }) => atMs,
      }),
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
  builder.queryFields((t) => ({
    metrics: t.field({
      type: [sample],
      description:
        'view_metrics. The last 1 to 1440 minutes of an app or a database, oldest first, 360 samples at most.',
      args: {
        appId: t.arg.id(),
        databaseId: t.arg.id(),
        minutes: t.arg.int({ defaultValue: minutesDefault }),
      },
      resolve: (_root, { appId, databaseId, minutes }, context) => {
        const owner = requireOwner(context, appId ?? null, databaseId ?? null);
        const count = minutes ?? minutesDefault;
        if (count < 1 || count > minutesMax) {
          throw new ServiceError('BAD_USER_INPUT', `minutes is 1 to ${String(minutesMax)}.`);
        }
        return context.read.metrics.read(owner, Date.now(), count);
      },
    }),
  }));
}

function requireOwner(
  context: GraphContext,
  appId: string | null,
  databaseId: string | null,
): string {
  if (appId !== null && databaseId === null) return requireApp(context, appId, 'view_metrics').id;
  if (databaseId !== null && appId === null) {
    return requireDatabase(context, databaseId, 'view_metrics').id;
  }
  throw new ServiceError('BAD_USER_INPUT', 'Name either appId or databaseId.');
}
