/**
 * Owns the shape of a comparison over HTTP: warm-up, then each contender in turn, round by round, so
 * that a noisy machine hits all of them.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { compare } from './harness.ts';
import type { Bench, Row, Server } from './harness.ts';
import { httpLoad, once } from './load/http.ts';
import type { HttpLoad, HttpResult } from './load/http.ts';

export type Request = Omit<HttpLoad, 'connections' | 'seconds'>;

export interface Contender {
  server: Server;
  request: Request;
}

/** The same load on each, in turn; the results of the same index are of the same round. */
export async function inTurn<Contenders extends Readonly<Record<string, Contender>>>(
  bench: Bench,
  contenders: Contenders,
  warmUpSeconds = 1,
): Promise<{ [Name in keyof Contenders]: HttpResult[] }> {
  const entries = Object.entries(contenders).map(([name, contender]) => {
    return { name, contender, results: [] as HttpResult[] };
  });
  const load = ({ server, request }: Contender, seconds: number): Promise<HttpResult> =>
    httpLoad(bench, server, { ...request, connections: 50, seconds });
  if (warmUpSeconds > 0) {
    for (const { contender } of entries) await load(contender, warmUpSeconds);
  }
  for (let i = 0; i < bench.pick(7, 1); i++) {
    for (const { contender, results } of entries) {
      results.push(await load(contender, bench.pick(4, 1)));
    }
  }
  const named = entries.map(({ name, results }) => [name, results] as const);
  return Object.fromEntries(named) as { [Name in keyof Contenders]: HttpResult[] };
}

/** The bare library that answers everything with these bytes. */
export async function startBare(bench: Bench, answer: Buffer): Promise<Server> {
  const file = join(bench.tempDir(), 'answer');
  writeFileSync(file, answer);
  return await bench.startServer('bench/bare/reply.ts', [file]);
}

/** Ours against the bare library that sends the very bytes ours answered. */
export async function againstBare(
  bench: Bench,
  ours: Server,
  request: Request,
  goals: { throughput: string; cpu: string },
): Promise<Row[]> {
  const expected = await once(ours, request);
  const bare = await startBare(bench, expected);
  const results = await inTurn(bench, {
    ours: { server: ours, request },
    bare: { server: bare, request },
  });
  const after = await once(ours, request);
  if (!after.equals(expected)) throw new Error('the answer changed under load');
  const row = (what: string, unit: string, goal: string, key: keyof HttpResult): Row =>
    compareBy(what, unit, goal, key, results.ours, results.bare);
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

/** One reading of two contenders, round by round. */
export function compareBy(
  what: string,
  unit: string,
  goal: string,
  key: keyof HttpResult,
  ours: readonly HttpResult[],
  against: readonly HttpResult[],
): Row {
  return compare(
    what,
    unit,
    goal,
    ours.map((one) => one[key]),
    against.map((one) => one[key]),
  );
}
