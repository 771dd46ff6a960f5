/** Owns what a database used in the last minutes or hours, renewed while somebody looks. */
import { useEffect, useMemo, useState } from 'react';
import { useQuery } from 'urql';
import { bytesInWords } from '../../ui/bytes.ts';
import { ErrorNote } from '../../ui/error-note.tsx';
import { SelectField } from '../../ui/field.tsx';
import { MetricsChart } from '../../ui/metrics-chart.tsx';
import { EmptyState, Section, Skeleton } from '../../ui/page.tsx';
import { type Database, MetricsQuery } from './documents.ts';

const spans = [
  { value: '15', label: 'Last 15 minutes' },
  { value: '60', label: 'Last hour' },
  { value: '360', label: 'Last 6 hours' },
  { value: '1440', label: 'Last day' },
];
const everyMs = 15_000;

export function MetricsTab({ database: { id, resources } }: { database: Database }) {
  const [minutes, setMinutes] = useState('60');
  const variables = { id, minutes: Number(minutes) };
  const [{ data, error }, again] = useQuery({ query: MetricsQuery, variables });
  useEffect(() => {
    const timer = setInterval(() => {
      if (document.visibilityState === 'visible') again({ requestPolicy: 'network-only' });
    }, everyMs);
    return () => clearInterval(timer);
  }, [again]);
  const samples = data?.metrics;
  const curves = useMemo(() => curvesOf(samples ?? []), [samples]);
  const { memoryMb, cpus } = resources;
  return (
    <Section
      title="Metrics"
      actions={
        <SelectField
          label="Time"
          quiet
          options={spans}
          value={minutes}
          onChange={(event) => setMinutes(event.target.value)}
        />
      }
    >
      {error && <ErrorNote error={error} retry={() => again({ requestPolicy: 'network-only' })} />}
      {samples === undefined && !error && <Skeleton lines={6} />}
      {samples?.length === 0 && (
        <EmptyState icon="activity" title="Nothing was measured in this time">
          Figures come while the database runs, every few seconds.
        </EmptyState>
      )}
      {samples !== undefined && samples.length > 0 && (
        <div className="database-charts">
          <MetricsChart
            title="Processor"
            minutes={variables.minutes}
            times={curves.times}
            curves={curves.cpu}
            format={(cores) => `${cores.toFixed(2)} cores`}
            atLeast={cpus ?? 0.1}
          />
          <MetricsChart
            title="Memory"
            minutes={variables.minutes}
            times={curves.times}
            curves={curves.memory}
            format={bytesInWords}
            atLeast={memoryMb === null ? 0 : memoryMb * 2 ** 20}
          />
          {curves.hasNetwork && (
            <MetricsChart
              title="Network"
              minutes={variables.minutes}
              times={curves.times}
              curves={curves.network}
              format={bytesInWords}
            />
          )}
        </div>
      )}
    </Section>
  );
}

interface Sample {
  at: string;
  cpu: number;
  memoryBytes: number;
  networkInBytes: number | null;
  networkOutBytes: number | null;
}

function curvesOf(samples: readonly Sample[]) {
  return {
    times: samples.map(({ at }) => at),
    cpu: [{ label: 'Processor', values: samples.map(({ cpu }) => cpu) }],
    memory: [{ label: 'Memory', values: samples.map(({ memoryBytes }) => memoryBytes) }],
    network: [
      { label: 'in', values: samples.map(({ networkInBytes }) => networkInBytes) },
      { label: 'out', values: samples.map(({ networkOutBytes }) => networkOutBytes) },
    ],
    hasNetwork: samples.some(({ networkInBytes }) => networkInBytes !== null),
  };
}
