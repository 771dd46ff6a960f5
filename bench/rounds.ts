/**
 * Owns the shape of a contest over HTTP: warm-up, then each contender in turn, round by round, so
 * that a noisy machine hits all of them. The answers of each are checked before, during and after
 * every round. In a smoke others than ours are only asked: nobody reads their figures.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import type { Server } from './gangway.ts';
import type { Bench } from './harness.ts';
import type { HttpAnswer } from './load/answers.ts';
import { httpLoad, once } from './load/http.ts';
import type { HttpResult } from './load/http.ts';
import type { HttpLoad } from './load/http-load.ts';
import { openLoop, openLoopNote } from './load/open-loop.ts';
import { ask } from './load/requests.ts';
import { row } from './model.ts';
import type { Goal, LatencyMs, Row } from './model.ts';
import { median } from './stats.ts';

export type Request = Omit<HttpLoad, 'connections' | 'seconds'>;

export interface Contender {
  server: Server;
  request: Request;
  /** Throws where an answer is not what it must be. */
  check?: (answer: HttpAnswer) => void;
}

/** `ours` is Gangway, `bare` the bare library; others stand under the name that is shown. */
export type Contenders = Readonly<Record<string, Contender>>;

export type Results<Of extends Contenders> = { [Name in keyof Of]: HttpResult[] };

/**
 * Many short rounds tell more than few long ones: what slows the machine down for a moment is in one of
 * them. The whole bench is to end within a quarter of an hour.
 */
const contestRounds = 4;

export interface ContestOptions {
  connections?: number;
  seconds?: number;
  warmUpSeconds?: number;
}

/** The answer is a 200 with these very bytes. */
export function sameBytes(expected: Buffer): (answer: HttpAnswer) => void {
  return ({ status, body }) => {
    if (status !== 200 || !body.equals(expected)) throw wrong(status, body, expected);
  };
}

/** The answer is a 200 that says the same, whatever the order of its fields. */
export function sameJson(expected: Buffer): (answer: HttpAnswer) => void {
  const wanted: unknown = JSON.parse(expected.toString());
  return ({ status, body }) => {
    if (status !== 200 || !isDeepStrictEqual(JSON.parse(body.toString()), wanted)) {
      throw wrong(status, body, expected);
    }
  };
}

function wrong(status: number, body: Buffer, expected: Buffer): Error {
  const came = body.toString('utf8', 0, 300);
  return new Error(`wrong answer: ${status} ${came}, not ${expected.toString('utf8', 0, 300)}`);
}

/** The same closed-loop load on each, in turn; the results of the same index are of the same round. */
export async function inTurn<Of extends Contenders>(
  bench: Bench,
  contenders: Of,
  options: ContestOptions = {},
): Promise<Results<Of>> {
  const { connections = 50 } = options;
  const load = async (contender: Contender, seconds: number): Promise<HttpResult> => {
    const { server, request } = contender;
    const { bytes, body } = await asked(contender);
    const size = { answerBytes: bytes, headBytes: bytes - body.length };
    const result = await checkedMeanwhile(
      contender,
      httpLoad(bench, server, { ...size, ...request, connections, seconds }),
    );
    await asked(contender);
    return result;
  };
  return await loadInTurn(bench, contenders, { ...options, ask: asked, load });
}

/** How contenders are asked once, and loaded. */
export interface Loading<One> extends ContestOptions {
  ask: (one: One) => Promise<unknown>;
  load: (one: One, seconds: number) => Promise<HttpResult>;
}

/** The same with any load. */
export async function loadInTurn<One extends { server: Server }, Of extends Record<string, One>>(
  bench: Bench,
  contenders: Of,
  loading: Loading<One>,
): Promise<{ [Name in keyof Of]: HttpResult[] }> {
  const { ask: askOnce, load, seconds = 1, warmUpSeconds = bench.pick(1, 0) } = loading;
  const all = Object.entries(contenders).map(([name, contender]) => ({
    name,
    contender,
    results: [] as HttpResult[],
  }));
  const running = all.filter(({ name, contender }) => isLoaded(bench, name, contender));
  for (const one of all) {
    if (!bench.oursOnly && !running.includes(one)) await askOnce(one.contender);
  }
  for (const { contender } of running) {
    if (warmUpSeconds > 0) await load(contender, warmUpSeconds);
  }
  await bench.eachRound(contestRounds, async (round) => {
    for (const { contender, results } of turned(running, round)) {
      results.push(await load(contender, seconds));
    }
  });
  const named = all.map(({ name, results }) => [name, results] as const);
  return Object.fromEntries(named) as { [Name in keyof Of]: HttpResult[] };
}

/** Whether it is put under load. `ours` may be a part of Gangway in a program of the bench. */
export function isLoaded(bench: Bench, name: string, { server }: { server: Server }): boolean {
  if (bench.isOurs(server)) return true;
  return !bench.oursOnly && (name === 'ours' || !bench.quick);
}

/** Each round another one begins: nobody always runs behind the same neighbour's heat. */
function turned<T>(list: readonly T[], round: number): T[] {
  const first = round % list.length;
  return [...list.slice(first), ...list.slice(0, first)];
}

/** Checks one answer; with bodies in turn, the one of this number. */
async function asked({ server, request, check }: Contender, number = 0): Promise<HttpAnswer> {
  const { bodies = [] } = request;
  const body = request.body ?? bodies[number % bodies.length];
  const answer = await ask(server.port, { ...request, ...(body !== undefined && { body }) });
  if (answer.status !== 200) throw wrong(answer.status, answer.body, Buffer.from('a 200'));
  check?.(answer);
  return answer;
}

const checkEveryMs = 400;

/** Load does not look at bodies; a few more requests do: what is wrong under load only is wrong. */
async function checkedMeanwhile<T>(contender: Contender, load: Promise<T>): Promise<T> {
  const over = new AbortController();
  const checks = async (): Promise<void> => {
    for (let number = 1; !over.signal.aborted; number++) {
      await asked(contender, number);
      await sleep(checkEveryMs, null, { signal: over.signal }).catch(() => null);
    }
  };
  const checked = checks().then(
    () => null,
    (error: unknown) => ({ error }),
  );
  // A server that died fails both, and the load knows why.
  const result = await load.finally(() => over.abort());
  const failed = await checked;
  if (failed !== null) throw failed.error;
  return result;
}

export interface HttpGoals {
  throughput?: readonly Goal[];
  cpu?: readonly Goal[];
  latency?: readonly Goal[];
}

/** Throughput, CPU and closed-loop latency of a contest. */
export function httpRows(
  group: string,
  results: Readonly<Record<string, HttpResult[]>> & { ours: HttpResult[] },
  goals: HttpGoals = {},
): Row[] {
  const rounds = (read: (result: HttpResult) => number) => ({
    ours: results.ours.map(read),
    ...mapped(results, (list) => list.map(read)),
  });
  const note = 'closed loop';
  return [
    row({
      group,
      what: 'throughput',
      unit: 'req/s',
      better: 'higher',
      rounds: rounds(({ requestsPerS }) => requestsPerS),
      goals: goals.throughput ?? [],
      note,
    }),
    row({
      group,
      what: 'CPU of the server',
      unit: 'us/req',
      better: 'lower',
      rounds: rounds(({ cpuUs }) => cpuUs),
      goals: goals.cpu ?? [],
      note,
    }),
    row({
      group,
      what: 'latency under full load, 99th percentile',
      unit: 'ms',
      better: 'lower',
      rounds: rounds(({ latency }) => latency.p99),
      percentiles: middles(mapped(results, (list) => list.map(({ latency }) => latency))),
      goals: goals.latency ?? [],
      note,
    }),
  ];
}

function mapped<From, To>(
  record: Readonly<Record<string, From>>,
  change: (value: From) => To,
): Record<string, To> {
  return Object.fromEntries(Object.entries(record).map(([name, value]) => [name, change(value)]));
}

/** Percentile by percentile the median of the rounds; the longest of all. */
export function middles(
  rounds: Readonly<Record<string, readonly LatencyMs[]>>,
): Record<string, LatencyMs> {
  return mapped(rounds, (list) => {
    const middle = (key: keyof LatencyMs): number => median(list.map((one) => one[key]));
    return {
      p50: middle('p50'),
      p90: middle('p90'),
      p99: middle('p99'),
      p999: middle('p999'),
      max: Math.max(...list.map(({ max }) => max)),
    };
  });
}

export interface LatencyOptions extends ContestOptions {
  perSecond: number;
  goals?: readonly Goal[];
}

/** What a request waits that comes when it is due, at a rate that all of them can bear. */
export async function latencyRow(
  bench: Bench,
  group: string,
  contenders: Contenders,
  options: LatencyOptions,
): Promise<Row> {
  const { perSecond, goals = [], connections = 50 } = options;
  // A thousand requests at least, so that the slowest hundredth is more than a few.
  const { seconds = bench.pick(perSecond < 1_000 ? 2 : 1, 1) } = options;
  const running = Object.entries(contenders).filter(([name, one]) => isLoaded(bench, name, one));
  const latencies: Record<string, LatencyMs[]> = mapped(contenders, () => []);
  const lates: LatencyMs[] = [];
  await bench.eachRound(3, async (round) => {
    for (const [name, contender] of turned(running, round)) {
      const { server, request } = contender;
      const { body } = await asked(contender);
      const again = await asked(contender);
      const varies = !body.equals(again.body);
      const calls = [{ request, share: 1, expected: body.toString(), varies }];
      const load = { calls, connections, perSecond, seconds };
      const { latency, late } = await openLoop(bench, server, load);
      latencies[name]?.push(latency);
      lates.push(late);
    }
  });
  const p99 = mapped(latencies, (list) => list.map((one) => one.p99));
  const rate = perSecond.toLocaleString('en');
  return row({
    group,
    what: `latency at ${rate} req/s, 99th percentile`,
    unit: 'ms',
    better: 'lower',
    rounds: { ours: [], ...p99 },
    percentiles: middles(latencies),
    goals,
    note: openLoopNote(lates),
  });
}

/** The bare library that answers everything with these bytes. */
export function startBare(bench: Bench, answer: Buffer, type?: string): Promise<Server> {
  return startReply(bench, 'bench/bare/reply.ts', answer, type);
}

export const bareNode = 'bare node:http';

/** The same with Node's own server. */
export function startBareNode(bench: Bench, answer: Buffer, type?: string): Promise<Server> {
  return startReply(bench, 'bench/bare/reply-node-http.ts', answer, type);
}

async function startReply(
  bench: Bench,
  program: string,
  answer: Buffer,
  type?: string,
): Promise<Server> {
  const file = join(bench.tempDir(), 'answer');
  writeFileSync(file, answer);
  return await bench.startServer(program, [file, ...(type ? [type] : [])]);
}

/** Ours against the bare library, and Node's own server, that send the very bytes ours answered. */
export async function againstBare(
  bench: Bench,
  ours: Server,
  request: Request,
  goals: HttpGoals,
  { group = '', perSecond = 2_000 } = {},
): Promise<Row[]> {
  const expected = await once(ours, request);
  const check = sameBytes(expected);
  const contenders = {
    ours: { server: ours, request, check },
    bare: { server: await startBare(bench, expected), request, check },
    [bareNode]: { server: await startBareNode(bench, expected), request, check },
  };
  const heading = [group, `${expected.length.toLocaleString('en')} bytes, 50 connections`]
    .filter(Boolean)
    .join(', ');
  const results = await inTurn(bench, contenders);
  return [
    ...httpRows(heading, results, goals),
    await latencyRow(bench, heading, contenders, { perSecond }),
  ];
}
