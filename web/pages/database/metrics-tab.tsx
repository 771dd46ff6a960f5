/** Owns what a database used in the last minutes or hours, renewed while somebody looks. */
import { useState } from 'react';
import { useQuery, type UseQueryResponse } from 'urql';
import type { ResultOf, VariablesOf } from '../../api/graphql.ts';
import { ErrorNote } from '../../ui/error-note.tsx';
import { EmptyState, Section, Skeleton } from '../../ui/page.tsx';
import { SpanField, UsageCharts, useRenewed } from '../../ui/usage-charts.tsx';
import { type Database, MetricsQuery } from './documents.ts';
import { DatabaseFrame } from './frame.tsx';

export function MetricsPage({ id }: { id: string }) {
  const [minutes, setMinutes] = useState(60);
  // Beside the frame's own query, not behind it.
  const query = useQuery({ query: MetricsQuery, variables: { id, minutes } });
  useRenewed(query[1]);
  return (
    <DatabaseFrame id={id} title="Metrics">
      {({ resources }) => (
        <Metrics limits={resources} query={query} minutes={minutes} onMinutes={setMinutes} />
      )}
    </DatabaseFrame>
  );
}

interface MetricsProps {
  limits: Database['resources'];
  query: UseQueryResponse<ResultOf<typeof MetricsQuery>, VariablesOf<typeof MetricsQuery>>;
  minutes: number;
  onMinutes: (minutes: number) => void;
}

function Metrics({ limits, query: [{ data, error }, again], minutes, onMinutes }: MetricsProps) {
  const samples = data?.metrics;
  return (
    <Section title="Metrics" actions={<SpanField minutes={minutes} onChange={onMinutes} />}>
      {error && <ErrorNote error={error} retry={() => again({ requestPolicy: 'network-only' })} />}
      {samples === undefined && !error && <Skeleton lines={6} />}
      {samples?.length === 0 && (
        <EmptyState icon="activity" title="Nothing was measured in this time">
          Figures come while the database runs, every few seconds.
        </EmptyState>
      )}
      {samples !== undefined && samples.length > 0 && (
        <UsageCharts samples={samples} minutes={minutes} limits={limits} />
      )}
    </Section>
  );
}
