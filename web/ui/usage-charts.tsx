/** Owns what an app or a database used over time: its curves, how much time they show, and their renewal. */
import { type ReactNode, useEffect, useMemo } from 'react';
import { bytesInWords } from './bytes.ts';
import { SelectField } from './field.tsx';
import { MetricsChart } from './metrics-chart.tsx';
import { whileSeen } from './while-seen.ts';

const spans = [
  { value: '15', label: 'Last 15 minutes' },
  { value: '60', label: 'Last hour' },
  { value: '360', label: 'Last 6 hours' },
  { value: '1440', label: 'Last day' },
];
const everyMs = 15_000;

export function SpanField({
  minutes,
  onChange,
}: {
  minutes: number;
  onChange: (minutes: number) => void;
}) {
  return (
    <SelectField
      label="Time"
      quiet
      options={spans}
      value={String(minutes)}
      onChange={(event) => onChange(Number(event.target.value))}
    />
  );
}

/** Asks anew while somebody looks. */
export function useRenewed(again: (options: { requestPolicy: 'network-only' }) => void): void {
  useEffect(() => whileSeen(everyMs, () => again({ requestPolicy: 'network-only' })), [again]);
}

interface Sample {
  at: string;
  cpu: number;
  memoryBytes: number;
  networkInBytes: number | null;
  networkOutBytes: number | null;
}

interface UsageChartsProps {
  samples: readonly Sample[];
  minutes: number;
  /** What all of it may use; null: as much as there is. */
  limits: { cpus: number | null; memoryMb: number | null };
}

export function UsageCharts({ samples, minutes, limits: { cpus, memoryMb } }: UsageChartsProps) {
  const { times, ...curves } = useMemo(() => curvesOf(samples), [samples]);
  return (
    <Charts>
      <MetricsChart
        title="Processor"
        minutes={minutes}
        times={times}
        curves={curves.cpu}
        format={(cores) => `${cores.toFixed(2)} cores`}
        atLeast={cpus ?? 0.1}
      />
      <MetricsChart
        title="Memory"
        minutes={minutes}
        times={times}
        curves={curves.memory}
        format={bytesInWords}
        atLeast={memoryMb === null ? 0 : memoryMb * 2 ** 20}
      />
      {curves.hasNetwork && (
        <MetricsChart
          title="Network"
          minutes={minutes}
          times={times}
          curves={curves.network}
          format={bytesInWords}
        />
      )}
    </Charts>
  );
}

export function Charts({ children }: { children: ReactNode }) {
  return <div className="charts">{children}</div>;
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
