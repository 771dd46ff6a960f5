/** What an app used, and what its visitors asked of it, renewed while somebody looks. */
import { useMemo, useState } from 'react';
import { useQuery } from 'urql';
import type { ResultOf } from '../../../api/graphql.ts';
import type { PageProps } from '../../../shell/routes.ts';
import { bytesInWords } from '../../../ui/bytes.ts';
import { ErrorNote } from '../../../ui/error-note.tsx';
import { MetricsChart } from '../../../ui/metrics-chart.tsx';
import { EmptyState, Facts, Section, Skeleton } from '../../../ui/page.tsx';
import { Charts, SpanField, UsageCharts, useRenewed } from '../../../ui/usage-charts.tsx';
import { mayOn } from '../app-parts.ts';
import { AppFrame } from '../frame.tsx';
import { AppMetricsQuery } from './documents.ts';
import { trafficCurves, type TrafficSample, trafficSums } from './traffic-curves.ts';

export function Page({ params: { id = '' } }: PageProps) {
  const [minutes, setMinutes] = useState(60);
  // Beside the frame's own query, not behind it.
  const [{ data, error }, again] = useQuery({ query: AppMetricsQuery, variables: { id, minutes } });
  useRenewed(again);
  return (
    <AppFrame id={id} title="Metrics">
      {(app) => {
        if (!mayOn(app, 'view_metrics')) return <Refused />;
        return (
          <>
            <div className="app-span">
              <SpanField minutes={minutes} onChange={setMinutes} />
            </div>
            {error && (
              <ErrorNote error={error} retry={() => again({ requestPolicy: 'network-only' })} />
            )}
            {!data && !error && <Skeleton lines={8} />}
            {data && (
              <>
                <Visitors data={data} minutes={minutes} />
                <Usage data={data} minutes={minutes} />
              </>
            )}
          </>
        );
      }}
    </AppFrame>
  );
}

function Refused() {
  return (
    <EmptyState icon="activity" title="You may not see the metrics of this app">
      It takes the right “See metrics and traffic”, which somebody who manages the team can give
      you.
    </EmptyState>
  );
}

type Answer = ResultOf<typeof AppMetricsQuery>;

interface PartProps {
  data: Answer;
  minutes: number;
}

function Visitors({ data: { traffic, metrics }, minutes }: PartProps) {
  // All ends where the newest sample is, so that the parts show the same time.
  const until = Math.max(0, ...[...traffic.slice(-1), ...metrics.slice(-1)].map(timeOf));
  const curves = useMemo(() => trafficCurves(traffic, minutes, until), [traffic, minutes, until]);
  if (traffic.length === 0) {
    return (
      <Section title="Visitors">
        <EmptyState icon="globe" title="Nobody asked anything of it in this time">
          Requests are counted by their answer, with how long it took, every ten seconds.
        </EmptyState>
      </Section>
    );
  }
  const { times } = curves;
  return (
    <Section title="Visitors">
      <Sums traffic={traffic} />
      <Charts>
        <MetricsChart
          title="Requests a second"
          minutes={minutes}
          times={times}
          curves={curves.requests}
          format={rateInWords}
        />
        <MetricsChart
          title="Time to answer"
          minutes={minutes}
          times={times}
          curves={curves.durations}
          format={durationInWords}
        />
        <MetricsChart
          title="Bytes a second"
          minutes={minutes}
          times={times}
          curves={curves.bytes}
          format={bytesInWords}
        />
      </Charts>
    </Section>
  );
}

const timeOf = ({ at }: { at: string }): number => Date.parse(at);
const whole = new Intl.NumberFormat('en', { maximumFractionDigits: 0 });
const share = new Intl.NumberFormat('en', { style: 'percent', maximumFractionDigits: 1 });

function Sums({ traffic }: { traffic: readonly TrafficSample[] }) {
  const { requests, failed, bytesIn, bytesOut } = trafficSums(traffic);
  return (
    <div className="app-sums">
      <Facts
        facts={[
          ['Requests', whole.format(requests)],
          ['Failed', `${whole.format(failed)} (${share.format(failed / Math.max(requests, 1))})`],
          ['Bytes in', bytesInWords(bytesIn)],
          ['Bytes out', bytesInWords(bytesOut)],
        ]}
      />
    </div>
  );
}

function Usage({ data: { app, metrics }, minutes }: PartProps) {
  const { cpus = null, memoryMb = null, replicas = 1 } = app?.resources ?? {};
  const all = (one: number | null): number | null => (one === null ? null : one * replicas);
  return (
    <Section title="Usage">
      {metrics.length === 0 ? (
        <EmptyState icon="activity" title="Nothing was measured in this time">
          Figures come while the app runs, every few seconds.
        </EmptyState>
      ) : (
        <UsageCharts
          samples={metrics}
          minutes={minutes}
          limits={{ cpus: all(cpus), memoryMb: all(memoryMb) }}
        />
      )}
    </Section>
  );
}

function rateInWords(perSecond: number): string {
  return `${perSecond.toFixed(perSecond < 10 ? 1 : 0)}/s`;
}

function durationInWords(ms: number): string {
  if (ms >= 1_000) return `${(ms / 1_000).toFixed(1)} s`;
  return `${ms.toFixed(ms < 10 ? 1 : 0)} ms`;
}
