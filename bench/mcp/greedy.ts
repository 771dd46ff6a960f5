/** Owns the greedy agent: what others wait while one sends the heaviest document in a loop. */
import { compare, median } from '../harness.ts';
import type { Bench, Row } from '../harness.ts';
import { ask } from '../load/requests.ts';
import type { PacedCall } from '../load/paced.ts';
import {
  appCount,
  callRequest,
  type McpInstance,
  newToken,
  newTokens,
  resultOf,
} from './instance.ts';
import { paced, pacedCall } from './fleet.ts';

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
  const first = await ask(gangway.port, heavy);
  if (first.status !== 200) throw new Error(`the heavy document: ${first.body.toString()}`);
  resultOf(first.body);
  const seconds = bench.pick(2, 1);
  let before = 0;
  const modest = async (): Promise<number> => {
    const load = { port: gangway.port, seconds, perSecond, callers, calls, before };
    before += seconds * perSecond;
    return (await paced(bench, load)).p99Ms;
  };
  const greedy = (): Promise<{ requests: number; seconds: number; errors: number }> =>
    bench.load('bench/load/sockets.ts', {
      port: gangway.port,
      ...heavy,
      connections,
      // The others begin when it is under way, and end before it does.
      seconds: seconds + 1,
    });
  const rounds: Record<'alone' | 'beside' | 'rate', number[]> = { alone: [], beside: [], rate: [] };
  await modest();
  for (let i = 0; i < bench.pick(20, 1); i++) {
    rounds.alone.push(await modest());
    const running = greedy();
    const [beside, took] = await Promise.all([
      new Promise((resolve) => setTimeout(resolve, 400)).then(modest),
      running,
    ]);
    if (took.errors > 0) throw new Error(`${took.errors} of the heavy answers were wrong`);
    rounds.beside.push(beside);
    rounds.rate.push(took.requests / took.seconds);
  }
  return [
    compare(
      `99th percentile of ${others} agents, beside one in a loop against alone`,
      'ms',
      '< 2',
      rounds.beside,
      rounds.alone,
    ),
    {
      what: `  heavy documents answered, ${connections} at a time`,
      ours: median(rounds.rate),
      against: null,
      unit: 'req/s',
      ratio: null,
      goal: '',
    },
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
