/** Requests through the edge, against nginx, HAProxy and Caddy with one thread each, in front of the same app. */
import { largeAnswer, smallAnswer, uploadAnswer } from '../edge/answers.ts';
import { openPlace, type Place, type Proxy } from '../edge/place.ts';
import type { Bench, Scenario } from '../harness.ts';
import type { HttpResult } from '../load/http.ts';
import type { Talk } from '../load/talk.ts';
import { type Goal, type Row, row } from '../model.ts';
import { usageOf } from '../processes.ts';
import {
  type Contender,
  type ContestOptions,
  type HttpGoals,
  httpRows,
  inTurn,
  latencyRow,
  loadInTurn,
  type Request,
  sameBytes,
} from '../rounds.ts';
import { median } from '../stats.ts';

type Contenders = Readonly<Record<string, Contender>> & { ours: Contender };
type Results = Readonly<Record<string, HttpResult[]>> & { ours: HttpResult[] };

/** CPU of a request is the more, the less is done in a second of it: 0.6 and 0.5 of nginx. */
const [smallMax, http2Max] = [1.67, 2];
const largeMin = 0.8;
const waitMax = 2;
const [restMiB, afterMiB] = [110, 200];
const uploadBytes = 10 * 2 ** 20;

export const scenario: Scenario = {
  title: 'the edge in front of an app, against other proxies with one thread',
  async run(bench) {
    // It is nothing of a whole Gangway, which is what is held against itself.
    if (bench.oursOnly) return [];
    const place = await openPlace(bench);
    // A process that has started collects what the start left when nothing more comes.
    const atRest = await memoryOf(bench, place, 40_000);
    return [
      ...(await small(bench, place)),
      ...(await large(bench, place)),
      ...(await upload(bench, place)),
      ...(await crowd(bench, place)),
      ...(await echo(bench, place)),
      ...(await secure(bench, place)),
      memoryRow('at rest', atRest, restMiB),
      memoryRow('behind all of it', await memoryOf(bench, place, 3_000), afterMiB),
    ];
  },
};

async function small(bench: Bench, place: Place): Promise<Row[]> {
  const contenders = asking(place, { path: '/small' }, smallAnswer);
  const group = `${smallAnswer.length} bytes`;
  const results: Results = await inTurn(bench, contenders);
  const cpu = [
    { against: 'nginx', ratio: smallMax },
    { against: 'caddy', ratio: 1 },
  ];
  // At half of what nginx can the cores that load, proxy and app share are full: nginx itself waited 100 to 400 ms.
  const perSecond = Math.round(median(reqsPerS(results.ours)) / 2);
  const goals = among(place, [{ against: 'nginx', ratio: waitMax }]);
  return [
    ...httpRows(group, results, goalsAmong(place, { cpu })),
    await latencyRow(bench, `${group}, half of what ours can`, contenders, {
      perSecond,
      goals,
    }),
  ];
}

async function large(bench: Bench, place: Place): Promise<Row[]> {
  const contenders = asking(place, { path: '/large' }, largeAnswer);
  return await contest(bench, place, '100 kB', contenders, largeGoals);
}

const largeGoals: HttpGoals = { throughput: [{ against: 'nginx', ratio: largeMin }] };

async function upload(bench: Bench, place: Place): Promise<Row[]> {
  const request: Request = {
    path: '/upload',
    method: 'POST',
    bodies: ['a'.repeat(uploadBytes)],
  };
  const contenders = asking(place, request, Buffer.from(uploadAnswer(uploadBytes)));
  const group = 'upload of 10 MiB, 4 connections';
  const options = { connections: 4, seconds: 2, warmUpSeconds: bench.pick(2, 0) };
  return await contest(bench, place, group, contenders, largeGoals, options);
}

async function crowd(bench: Bench, place: Place): Promise<Row[]> {
  const connections = bench.pick(2000, 200);
  const contenders = asking(place, { path: '/small' }, smallAnswer);
  const group = `${smallAnswer.length} bytes, ${connections.toLocaleString('en')} connections`;
  // They come in at a pace, which is not what is asked here.
  const options = { connections, seconds: bench.pick(3, 1) };
  return await contest(bench, place, group, contenders, {}, options);
}

async function echo(bench: Bench, place: Place): Promise<Row[]> {
  const text = 'a message that comes back as it is '.padEnd(64, '.');
  const says = { speaks: 'websocket', path: '/echo', text, connections: 50, atOnce: 1 } as const;
  return await talked(bench, place, 'WebSocket, 64 bytes there and back', says);
}

async function secure(bench: Bench, place: Place): Promise<Row[]> {
  const asks = { path: '/small', text: smallAnswer.toString() };
  const each = { ...asks, speaks: 'https', connections: 50, atOnce: 1 } as const;
  const many = { ...asks, speaks: 'http2', connections: 10, atOnce: 5 } as const;
  const goals = { cpu: [{ against: 'nginx', ratio: http2Max }] };
  return [
    ...(await talked(bench, place, 'HTTPS with HTTP/1.1, 5 bytes', each)),
    ...(await talked(bench, place, 'HTTPS with HTTP/2, 5 bytes, 10 x 5 streams', many, goals)),
  ];
}

function asking({ proxies }: Place, request: Request, answer: Buffer): Contenders {
  const all = Object.entries(proxies).map(([name, server]): [string, Contender] => [
    name,
    { server, request, check: sameBytes(answer) },
  ]);
  return Object.fromEntries(all) as Contenders;
}

async function contest(
  bench: Bench,
  place: Place,
  group: string,
  contenders: Contenders,
  goals: HttpGoals,
  options: ContestOptions = {},
): Promise<Row[]> {
  const results = await inTurn(bench, contenders, {
    ...options,
    seconds: bench.pick(options.seconds ?? 1, 1),
  });
  return httpRows(group, results, goalsAmong(place, goals));
}

type Says = Omit<Talk, 'port' | 'pid' | 'ca' | 'seconds'>;

/** By a load of our own, which judges each answer. */
async function talked(
  bench: Bench,
  { proxies, certificate: ca }: Place,
  group: string,
  says: Says,
  goals: HttpGoals = {},
): Promise<Row[]> {
  const load = ({ server }: { server: Proxy }, seconds: number): Promise<HttpResult> => {
    const port = says.speaks === 'websocket' ? server.port : server.tlsPort;
    const talk: Talk = { ...says, port, pid: server.pid, ca, seconds };
    return bench.load('bench/load/talk.ts', talk);
  };
  const servers = Object.entries(proxies).map(([name, server]) => [name, { server }]);
  const contenders = Object.fromEntries(servers) as Record<string, { server: Proxy }>;
  const results = await loadInTurn(bench, contenders, {
    ask: (one) => load(one, 0.01),
    load,
    seconds: bench.pick(1, 0.2),
  });
  return httpRows(group, results as Results, goalsAmong({ proxies }, goals));
}

function goalsAmong(place: Pick<Place, 'proxies'>, goals: HttpGoals): HttpGoals {
  return {
    cpu: among(place, goals.cpu),
    throughput: among(place, goals.throughput),
  };
}

/** Those that are held against somebody who is here. */
function among({ proxies }: Pick<Place, 'proxies'>, goals: readonly Goal[] = []): Goal[] {
  return goals.filter((goal) => 'value' in goal || Object.hasOwn(proxies, goal.against));
}

function reqsPerS(results: readonly HttpResult[]): number[] {
  return results.map(({ requestsPerS }) => requestsPerS);
}

/** Of each proxy, with what is there for it besides. */
async function memoryOf(
  bench: Bench,
  { proxies }: Place,
  restsMs: number,
): Promise<Record<string, number[]>> {
  await new Promise((resolve) => setTimeout(resolve, bench.pick(restsMs, 200)));
  const all = Object.entries(proxies).map(([name, { pid, besides }]) => {
    const bytes = [pid, ...besides].map((one) => usageOf(one).rssBytes);
    return [name, [bytes.reduce((sum, one) => sum + one, 0) / 2 ** 20]];
  });
  return Object.fromEntries(all) as Record<string, number[]>;
}

function memoryRow(what: string, mib: Record<string, number[]>, goalMiB: number): Row {
  return row({
    group: 'memory',
    what,
    unit: 'MiB',
    better: 'lower',
    rounds: { ours: [], ...mib },
    goals: [{ value: goalMiB }],
    note: 'RSS; ours is the edge and the runner together',
  });
}
