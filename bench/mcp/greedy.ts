/** Owns the greedy agent: what others wait while one sends the heaviest document in a loop. */
import type { Bench } from '../harness.ts';
import { once } from '../load/http.ts';
import { openLoop } from '../load/open-loop.ts';
import { type Row, row } from '../model.ts';
import type { PacedCall } from '../load/paced.ts';
import {
  appCount,
  callRequest,
  type McpInstance,
  newToken,
  newTokens,
  resultOf,
} from './instance.ts';
import { pacedCall } from './fleet.ts';

const others = 20;
const perSecond = 200;
const connections = 4;
const pages = 50;

/** Five fields and five deployments of each app. */
const mediumQuery = `query ($first: Int!) { apps(first: $first) { nodes {
  id slug name status updatedAt deployments(first: 5) { nodes { id status createdAt } } } } }`;

export async function greedyRows(bench: Bench, instance: McpInstance): Promise<Row[]> {
  const { gangway, appIds } = instance;
  const callers = await newTokens(gangway, 'modest', others);
  const calls = await modestCalls(instance);
  const heavy = callRequest(
    'graphql_query',
    { query: heaviest(appIds[0] ?? '') },
    await newToken(gangway, 'greedy'),
  );
  resultOf(await once(gangway, heavy));
  const seconds = bench.pick(2, 1);
  let before = 0;
  const modest = async (): Promise<number> => {
    const load = { seconds, perSecond, callers, calls, before };
    before += seconds * perSecond;
    return (await openLoop(bench, gangway, load)).latency.p99;
  };
  const greedy = (): Promise<{ requests: number; seconds: number; errors: number }> =>
    bench.load('bench/load/sockets.ts', {
      port: gangway.port,
      ...heavy,
      connections,
      // The others begin when it is under way, and end before it does.
      seconds: seconds + 1,
    });
  const p99: Record<'ours' | 'alone', number[]> = { ours: [], alone: [] };
  const rate: number[] = [];
  await modest();
  await bench.eachRound(5, async () => {
    p99.alone.push(await modest());
    const running = greedy();
    const [beside, took] = await Promise.all([
      new Promise((resolve) => setTimeout(resolve, 400)).then(modest),
      running,
    ]);
    if (took.errors > 0) throw new Error(`${took.errors} of the heavy answers were wrong`);
    p99.ours.push(beside);
    rate.push(took.requests / took.seconds);
  });
  const group = `${others} agents beside one that sends the heaviest document in a loop`;
  return [
    row({
      group,
      what: 'latency of the others, 99th percentile',
      unit: 'ms',
      better: 'lower',
      rounds: p99,
      goals: [{ against: 'alone', ratio: 2 }],
      note: `open loop, ${perSecond} req/s`,
    }),
    row({
      group,
      what: `heavy documents answered, ${connections} at a time`,
      unit: 'req/s',
      better: 'higher',
      rounds: { ours: rate },
      note: 'closed loop',
    }),
  ];
}

/** So many that none of their answers is still kept when an agent asks for it again. */
async function modestCalls({ gangway }: McpInstance): Promise<PacedCall[]> {
  const spare = await newToken(gangway, 'looks first');
  const calls: PacedCall[] = [];
  for (let i = 0; i < pages; i++) {
    const first = appCount + i;
    const list = callRequest('list_apps', { first });
    const query = callRequest('graphql_query', { query: mediumQuery, variables: { first } });
    calls.push(await pacedCall(gangway, list, 1, spare), await pacedCall(gangway, query, 1, spare));
  }
  return calls;
}

/** Just below the cost that is allowed: as many lines of logs as a document may ask for, 20 MB. */
function heaviest(appId: string): string {
  const logs = (name: string): string =>
    `${name}: logs(appId: "${appId}", tail: 4999) { nodes { text } }`;
  return `{ ${Array.from({ length: 5 }, (_, i) => logs(`l${i}`)).join(' ')} }`;
}
