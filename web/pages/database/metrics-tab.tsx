/** Owns what a database used in the last minutes or hours, renewed while somebody looks. */
import type { UseQueryResponse } from 'urql';
import type { ResultOf, VariablesOf } from '../../api/graphql.ts';
import { ErrorNote } from '../../ui/error-note.tsx';
import { EmptyState, Section, Skeleton } from '../../ui/page.tsx';
import { SpanField, UsageCharts, useRenewed } from '../../ui/usage-charts.tsx';
import type { Database, MetricsQuery } from './documents.ts';

interface MetricsTabProps {
  database: Database;
  minutes: number;
  setMinutes: (minutes: number) => void;
  query: UseQueryResponse<ResultOf<typeof MetricsQuery>, VariablesOf<typeof MetricsQuery>>;
}

export function MetricsTab(props: MetricsTabProps) {
  const { minutes, setMinutes, database } = props;
  const [{ data, error }, again] = props.query;
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
        <UsageCharts samples={samples} minutes={minutes} limits={database.resources} />
      )}
    </Section>
  );
}
