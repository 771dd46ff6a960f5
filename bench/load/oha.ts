/** Owns closed-loop load from `oha`: its arguments, and what it reports. */
import type { Server } from '../gangway.ts';
import type { Bench } from '../harness.ts';
import type { HttpLoad, RawResult } from './http-load.ts';

interface OhaReport {
  summary: { total: number; slowest: number; totalData: number };
  latencyPercentiles: Record<'p50' | 'p90' | 'p99' | 'p99.9', number>;
  statusCodeDistribution: Record<string, number>;
  errorDistribution: Record<string, number>;
}

/** What was under way when the time was over is no error. */
const cutOff = 'deadline';

export async function oha(bench: Bench, server: Server, load: HttpLoad): Promise<RawResult> {
  return ohaResult(await bench.run('oha', ohaArgs(server.url + load.path, load)), load);
}

export function ohaArgs(url: string, load: HttpLoad): string[] {
  const headers = Object.entries(load.headers ?? {}).flatMap(([name, value]) => [
    '-H',
    `${name}: ${value}`,
  ]);
  return [
    '--no-tui',
    '--output-format',
    'json',
    '-c',
    String(load.connections),
    '-z',
    `${load.seconds}s`,
    '-m',
    load.method ?? 'GET',
    ...headers,
    ...(load.body === undefined ? [] : ['-d', load.body]),
    url,
  ];
}

/** It counts the bytes of bodies alone: the head is taken from the one answer that was looked at. */
export function ohaResult(said: string, load: HttpLoad): RawResult {
  const report = JSON.parse(said) as OhaReport;
  const { summary, latencyPercentiles: ms } = report;
  const counts = Object.entries(report.statusCodeDistribution);
  const requests = counts.reduce((sum, [, count]) => sum + count, 0);
  const refused = counts.reduce((sum, [status, n]) => sum + (status === '200' ? 0 : n), 0);
  const broken = Object.entries(report.errorDistribution)
    .filter(([why]) => !why.includes(cutOff))
    .reduce((sum, [, count]) => sum + count, 0);
  return {
    requests,
    seconds: summary.total,
    bytes: summary.totalData + requests * (load.headBytes ?? 0),
    errors: refused + broken,
    latency: {
      p50: ms.p50 * 1000,
      p90: ms.p90 * 1000,
      p99: ms.p99 * 1000,
      p999: ms['p99.9'] * 1000,
      max: summary.slowest * 1000,
    },
  };
}
