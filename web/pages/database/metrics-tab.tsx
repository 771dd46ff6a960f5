/** Owns what a database used in the last minutes or hours, renewed while somebody looks. */
import { useState } from 'react';
import { useQuery } from 'urql';
import { ErrorNote } from '../../ui/error-note.tsx';
import { EmptyState, Section, Skeleton } from '../../ui/page.tsx';
import { SpanField, UsageCharts, useRenewed } from '../../ui/usage-charts.tsx';
import { type Database, MetricsQuery } from './documents.ts';

export function MetricsTab({ database: { id, resources } }: { database: Database }) {
  const [minutes, setMinutes] = useState(60);
  const [{ data, error }, again] = useQuery({ query: MetricsQuery, variables: { id, minutes } });
  useRenewed(again);
  const samples = data?.metrics;
  return (
    <Section title="Metrics" actions={<SpanField minutes={minutes} onChange={setMinutes} />}>
      {error && <ErrorNote error={error} retry={() => again({ requestPolicy: 'network-only' })} />}
      {samples === undefined && !error && <Skeleton lines={6} />}
      {samples?.length === 0 && (
        <EmptyState icon="activity" title="Nothing was measured in this time">
          Figures come while the database runs, every few seconds.
        </EmptyState>
      )}
      {samples !== undefined && samples.length > 0 && (
        <UsageCharts samples={samples} minutes={minutes} limits={resources} />
      )}
    </Section>
  );
}
