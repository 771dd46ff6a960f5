/**
 * Owns a contest of GraphQL servers over one document: Gangway, the bare library with the exact bytes of
 * the answer, and the servers of `bench/peers` with the same part of the schema and the same data.
 *
 * 1. Every server must answer the same, byte for byte, before and after each round.
 * 2. As `ours` Gangway executes every request: each request has another number in `extensions`, which no
 *    server reads, or a text of its own, so no answer is reused. All contenders get the same requests.
 * 3. Where reuse of answers is measured, Gangway gets the same bytes again and again, as does the bare
 *    library.
 */
import type { Server } from '../gangway.ts';
import type { Bench } from '../harness.ts';
import type { HttpAnswer } from '../load/answers.ts';
import { once } from '../load/http.ts';
import type { HttpResult } from '../load/http.ts';
import { ask } from '../load/requests.ts';
import { openLoop } from '../load/open-loop.ts';
import { type Goal, type LatencyMs, type Row, row } from '../model.ts';
import { startPeer } from '../peers.ts';
import {
  bareNode,
  httpRows,
  inTurn,
  isLoaded,
  middles,
  startBare,
  startBareNode,
} from '../rounds.ts';
import type { Contender, Request } from '../rounds.ts';
import { renamed } from './documents.ts';
import { type AppsInstance, questionRequest, servedFile } from './instance.ts';

export const yoga = 'graphql-yoga';
export const mercurius = 'mercurius with JIT';
export const apollo = 'Apollo Server';

export interface GraphqlContest {
  /** What is asked for, in words. */
  what: string;
  document: string;
  peers: readonly (typeof yoga | typeof mercurius | typeof apollo)[];
  connections?: number;
  /** Also against Node's own server with the very bytes; default not. */
  bareNode?: boolean;
  /** A text of its own for every request; default one that is known. */
  freshTexts?: boolean;
  goals: readonly Goal[];
  /** Also the same request again and again, held against these; default not. */
  reuse?: readonly Goal[];
  /** Also what a request waits that comes when it is due, so many a second; default not. */
  latencyAt?: number;
}

/** Many times what any server remembers of requests, answers or documents. */
const distinct = 20_000;

export async function graphqlRows(
  bench: Bench,
  instance: AppsInstance,
  contest: GraphqlContest,
): Promise<Row[]> {
  const { document, connections = 50, freshTexts = false, goals, reuse } = contest;
  const same = questionRequest(instance, { query: document });
  const varied: Request = { ...same, bodies: bodiesOf(instance, document, freshTexts) };
  const answer = await once(instance.gangway, same);
  requireData(answer);
  const bare = await startBare(bench, answer);
  const enter = (server: Server, request: Request): Promise<Contender> =>
    contender(server, request, answer);
  const contenders: Record<string, Contender> & { ours: Contender } = {
    ours: await enter(instance.gangway, varied),
    bare: await enter(bare, varied),
  };
  for (const [name, server] of await startPeers(bench, instance, contest.peers)) {
    contenders[name] = await enter(server, varied);
  }
  if (contest.bareNode === true) {
    contenders[bareNode] = await enter(await startBareNode(bench, answer), varied);
  }
  if (reuse !== undefined) {
    contenders[reused] = await enter(instance.gangway, same);
    contenders[bareReused] = await enter(bare, same);
  }
  const results = await inTurn(bench, contenders, {
    connections,
    warmUpSeconds: bench.pick(1, 0),
  });
  // Held against itself no peer has rounds, and yet they were to take part.
  const absent = Object.fromEntries(contest.peers.map((name) => [name, []]));
  const executed = executedOf({ ...absent, ...results });
  const { latencyAt } = contest;
  const how = `${answer.length.toLocaleString('en')} bytes, ${connections} connections`;
  const text = freshTexts ? 'each in a text of its own' : 'executed every time';
  return [
    ...httpRows(`${contest.what}, ${text}, ${how}`, executed, { throughput: goals }),
    ...(reuse === undefined
      ? []
      : httpRows(`${contest.what}, answers reused, ${how}`, reusedOf(results), {
          throughput: reuse,
        })),
    ...(latencyAt === undefined
      ? []
      : [await latencyRow(bench, `${contest.what}, ${text}`, contenders, latencyAt)]),
  ];
}

/** Of those that are likely to be waited for: who is slow at full load is not asked. */
async function latencyRow(
  bench: Bench,
  group: string,
  contenders: Readonly<Record<string, Contender>>,
  perSecond: number,
): Promise<Row> {
  const names = ['ours', 'bare', mercurius].filter((name) => contenders[name] !== undefined);
  const latencies: Record<string, LatencyMs[]> = Object.fromEntries(
    names.map((name) => [name, []]),
  );
  const seconds = bench.pick(2, 1);
  await bench.eachRound(3, async () => {
    for (const name of names) {
      const one = contenders[name];
      if (one === undefined || !isLoaded(bench, name, one)) continue;
      const { server, request } = one;
      const expected = (await ask(server.port, request)).body.toString();
      const calls = (request.bodies ?? [])
        .slice(0, perSecond * seconds)
        .map((body) => ({ request: { ...request, body, bodies: [] }, share: 1, expected }));
      const load = { calls, connections: 50, perSecond, seconds };
      const { latency } = await openLoop(bench, server, load);
      latencies[name]?.push(latency);
    }
  });
  const p99 = Object.entries(latencies).map(([name, list]) => [name, list.map((one) => one.p99)]);
  return row({
    group,
    what: `latency at ${perSecond.toLocaleString('en')} req/s, 99th percentile`,
    unit: 'ms',
    better: 'lower',
    rounds: { ours: [], ...(Object.fromEntries(p99) as Record<string, number[]>) },
    percentiles: middles(latencies),
    note: 'open loop',
  });
}

const reused = 'reused';
const bareReused = 'bare, reused';

type Results = Record<string, HttpResult[]> & { ours: HttpResult[] };

function executedOf({ ours, ...others }: Results): Results {
  const executed = Object.entries(others).filter(
    ([name]) => name !== reused && name !== bareReused,
  );
  return { ours, ...Object.fromEntries(executed) };
}

function reusedOf(results: Results): Results {
  return { ours: results[reused] ?? [], bare: results[bareReused] ?? [] };
}

function bodiesOf(instance: AppsInstance, document: string, freshTexts: boolean): string[] {
  return Array.from({ length: distinct }, (_, i) =>
    freshTexts
      ? questionRequest(instance, { query: renamed(document, i) }).body
      : questionRequest(instance, { query: document }, i).body,
  );
}

const programs = {
  [yoga]: ['graphql-yoga.ts', 'jit'],
  [mercurius]: ['mercurius.ts'],
  [apollo]: ['apollo-server.ts'],
} as const;

async function startPeers(
  bench: Bench,
  instance: AppsInstance,
  names: GraphqlContest['peers'],
): Promise<[string, Server][]> {
  // Held against itself, nobody else takes part.
  if (bench.oursOnly) return [];
  const file = await servedFile(bench, instance);
  return await Promise.all(
    names.map(async (name): Promise<[string, Server]> => {
      const [program, ...args] = programs[name];
      return [name, await startPeer(bench, program, [file, ...args])];
    }),
  );
}

/** A server that answers as it should, known by how many bytes it takes. */
async function contender(server: Server, request: Request, answer: Buffer): Promise<Contender> {
  const check = sameText(answer);
  for (const body of [request.bodies?.at(0), request.bodies?.at(-1), request.body]) {
    if (body !== undefined) check(await ask(server.port, { ...request, body }));
  }
  const { bytes } = await ask(server.port, request);
  return { server, request: { ...request, answerBytes: bytes }, check };
}

/** The very bytes, but for white space around them. */
function sameText(expected: Buffer): (answer: HttpAnswer) => void {
  const wanted = expected.toString();
  return ({ status, body }) => {
    const came = body.toString().trim();
    if (status === 200 && came === wanted) return;
    throw new Error(`wrong answer: ${status} ${came.slice(0, 300)}, not ${wanted.slice(0, 300)}`);
  };
}

/** What comes in place of data is a refusal. */
function requireData(answer: Buffer): void {
  const { data, errors } = JSON.parse(answer.toString()) as { data?: object; errors?: object[] };
  if (data !== undefined && errors === undefined) return;
  throw new Error(`no data: ${answer.toString('utf8', 0, 300)}`);
}
