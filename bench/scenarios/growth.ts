/**
 * What an operation costs where very much is stored, against where there is little. Each answer is held
 * against what was written, and none is kept from an earlier request: each says a number of its own.
 */
import { holdBuilds } from '../deploy.ts';
import type { Bench, Gangway, Scenario } from '../harness.ts';
import { sendEach } from '../load/calls.ts';
import type { RequestParts } from '../load/requests.ts';
import { row } from '../model.ts';
import type { Row } from '../model.ts';
import { hookRequests, seed, spread } from '../seed.ts';
import type { Seeded, SeededApp } from '../seed.ts';

const connections = 20;
const goalRatio = 1.3;

interface Instance {
  name: string;
  server: Gangway;
  seeded: Seeded;
}

interface Operation {
  what: string;
  note?: string;
  calls: number;
  /** Whether one more app or token may cost no more. */
  goal: boolean;
  /** Calls of a round, and what is answered to each where that is known. */
  requests(instance: Instance, round: number): { request: RequestParts; expected?: string }[];
}

export const scenario: Scenario = {
  title: 'what an operation costs with very many apps and tokens, against few',
  async run(bench) {
    const rounds = bench.pick(3, 1);
    const fresh = bench.pick(500, 50);
    // As many as there are calls for which nothing may wait, and no more.
    const some = fresh * (rounds + 1);
    const many = bench.pick(100_000, 1_000);
    const few = await startWith(bench, '10 apps, 1 token', { apps: 10, tokens: 1 });
    const middle = await startWith(bench, `${count(some)} apps`, { apps: some, tokens: 1 });
    const large = await startWith(bench, 'ours', { apps: many, tokens: many / 10 });
    const group = `${count(many)} apps and ${count(many / 10)} tokens`;
    const rows: Row[] = [];
    for (const operation of operations(bench.pick(10_000, 400))) {
      rows.push(await compared(bench, group, operation, large, few));
    }
    rows.push(await compared(bench, group, freshHooks(fresh), large, middle));
    return rows;
  },
};

async function startWith(
  bench: Bench,
  name: string,
  size: { apps: number; tokens: number },
): Promise<Instance> {
  const seeded = await seed(bench, size);
  const server = await bench.startGangway({
    GANGWAY_DATA_DIR: seeded.dataDir,
    GANGWAY_BUILD_CONCURRENCY: '1',
    GANGWAY_LOG_LEVEL: 'warn',
  });
  await holdBuilds(bench, server);
  return { name, server, seeded };
}

function operations(calls: number): Operation[] {
  return [
    {
      what: 'an app by its id, spread over all',
      calls,
      goal: true,
      requests: ({ seeded }) =>
        turns(spread(seeded.apps, calls), calls).map((app, i) => ({
          request: question(seeded, i, appQuery, { id: app.id }),
          expected: answered({ app: shown(app) }),
        })),
    },
    {
      what: 'the first 10 apps',
      calls,
      goal: true,
      requests: ({ seeded }) =>
        Array.from({ length: calls }, (_, i) => ({
          request: question(seeded, i, firstQuery, {}),
          expected: answered({ apps: { nodes: seeded.apps.slice(0, 10).map(shown) } }),
        })),
    },
    {
      what: 'who is calling, by a token of all in turn',
      calls,
      goal: true,
      requests: ({ seeded }) =>
        turns(spread(seeded.tokens, calls), calls).map((token, i) => ({
          request: question(seeded, i, '{ me { id } }', {}, token),
          expected: answered({ me: { id: 'usr_bench' } }),
        })),
    },
    {
      what: 'a deploy hook, of 10 apps in turn',
      note: 'their deployments wait already',
      calls,
      goal: true,
      requests: ({ seeded }) => {
        const apps = turns(spread(seeded.apps, 10), calls);
        return hookRequests(seeded, apps).map((request) => ({ request }));
      },
    },
  ];
}

/** Each for an app that nothing waits for, so that each stores a deployment. */
function freshHooks(calls: number): Operation {
  return {
    what: 'a deploy hook, each of another app',
    note: 'each stores a deployment',
    calls,
    goal: true,
    requests: ({ seeded }, round) => {
      const step = Math.floor(seeded.apps.length / calls);
      const apps = Array.from({ length: calls }, (_, i) => seeded.apps[i * step + round]);
      const there = apps.filter((app) => app !== undefined);
      return hookRequests(seeded, there).map((request) => ({ request }));
    },
  };
}

async function compared(
  bench: Bench,
  group: string,
  operation: Operation,
  large: Instance,
  other: Instance,
): Promise<Row> {
  const cpuUs: Record<string, number[]> & { ours: number[] } = { ours: [], [other.name]: [] };
  let round = 0;
  // The first brings code and records into memory, and finds the texts for the first time.
  for (const instance of [large, other]) await cost(bench, operation, instance, round);
  await bench.eachRound(3, async () => {
    round += 1;
    for (const instance of [large, other]) {
      cpuUs[instance.name]?.push(await cost(bench, operation, instance, round));
    }
  });
  return row({
    group,
    what: operation.what,
    unit: 'us/req',
    better: 'lower',
    rounds: cpuUs,
    goals: operation.goal ? [{ against: other.name, ratio: goalRatio }] : [],
    note: ['CPU of the server', operation.note].filter(Boolean).join('; '),
  });
}

async function cost(
  bench: Bench,
  operation: Operation,
  instance: Instance,
  round: number,
): Promise<number> {
  const list = operation.requests(instance, round);
  const requests = list.map(({ request }) => request);
  const { cpuUs, answers } = await sendEach(bench, instance.server, requests, connections);
  for (const [i, { expected }] of list.entries()) {
    const came = answers[i] ?? '';
    const isRight = expected === undefined ? isQueued(came, requests[i]) : came === expected;
    if (!isRight) throw new Error(`${operation.what}: wrong answer: ${came.slice(0, 300)}`);
  }
  return cpuUs;
}

/** The answer of a deploy hook: a deployment of the app that was named. */
function isQueued(answer: string, request: RequestParts | undefined): boolean {
  const { appId, status } = JSON.parse(answer) as { appId?: string; status?: string };
  return status === 'queued' && request?.path.split('/')[3] === appId;
}

const appQuery = 'query One($id: ID!) { app(id: $id) { id slug name status } }';
const firstQuery = '{ apps(first: 10) { nodes { id slug name status } } }';

function shown({ id, slug, name }: SeededApp): object {
  return { id, slug, name, status: 'error' };
}

function answered(data: object): string {
  return JSON.stringify({ data });
}

function question(
  { tokens }: Seeded,
  number: number,
  query: string,
  variables: object,
  token = tokens[0] ?? '',
): RequestParts {
  return {
    path: '/api/graphql',
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${token}` },
    // What servers do not look at, and what makes each request another one.
    body: JSON.stringify({ query, variables, extensions: { request: number } }),
  };
}

/** So many of a list, begun anew where it ends. */
function turns<T>(list: readonly T[], length: number): T[] {
  return Array.from({ length }, (_, i) => list[i % list.length] as T);
}

function count(number: number): string {
  return number.toLocaleString('en');
}
