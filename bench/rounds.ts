/** Owns the shape of a comparison over HTTP: warm-up, then ours and bare in turn, round by round. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { compare } from './harness.ts';
import type { Bench, Row, Server } from './harness.ts';
import { httpLoad, once } from './load/http.ts';
import type { HttpLoad, HttpResult } from './load/http.ts';

/** Ours against the bare library that sends the very bytes ours answered. */
export async function againstBare(
  bench: Bench,
  ours: Server,
  load: Omit<HttpLoad, 'connections' | 'seconds'>,
  goals: { throughput: string; cpu: string },
): Promise<Row[]> {
  const round = { ...load, connections: 50, seconds: bench.pick(4, 1) };
  const expected = await once(ours, round);
  const file = join(bench.tempDir(), 'answer');
  writeFileSync(file, expected);
  const bare = await bench.startServer('bench/bare/reply.ts', [file]);
  await httpLoad(bench, ours, { ...round, seconds: 1 });
  await httpLoad(bench, bare, { ...round, seconds: 1 });
  const results: { ours: HttpResult[]; bare: HttpResult[] } = { ours: [], bare: [] };
  for (let i = 0; i < bench.pick(7, 1); i++) {
    results.ours.push(await httpLoad(bench, ours, round));
    results.bare.push(await httpLoad(bench, bare, round));
  }
  const after = await once(ours, round);
  if (!after.equals(expected)) throw new Error('the answer changed under load');
  const row = (what: string, unit: string, goal: string, key: keyof HttpResult): Row =>
    compare(
      what,
      unit,
      goal,
      results.ours.map((one) => one[key]),
      results.bare.map((one) => one[key]),
    );
  return [
    row(
      `throughput, 50 connections, ${expected.length} bytes`,
      'req/s',
      goals.throughput,
      'requestsPerS',
    ),
    row('CPU of the server', 'us/req', goals.cpu, 'cpuUs'),
    row('latency, 99th percentile', 'ms', '', 'p99Ms'),
  ];
}
