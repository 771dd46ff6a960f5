import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type * as Stores from '../../src/store/store.ts';
import type * as AllTables from '../../src/store/records/tables.ts';
import { padded } from '../graphql/documents.ts';
import { type AppsInstance, questionRequest, startApps } from '../graphql/instance.ts';
import type { Server } from '../gangway.ts';
import type { Bench, Scenario } from '../harness.ts';
import { openLoop } from '../load/open-loop.ts';
import { type LatencyMs, type Row, row } from '../model.ts';
import { httpRows, inTurn, middles, type Request, sameBytes } from '../rounds.ts';

const one = 'one fsync a call';
const apps = 50;
// So that no app is ever given the name it has.
const namesEach = 40;
const perSecond = 100;

interface Storm {
  requests: (Request & { body: string })[];
  /** Of the same index, and all of one length. */
  expected: string[];
}

export const scenario: Scenario = {
  title: 'changes by GraphQL, each durable before it is answered, against one fsync for each',
  async run(bench) {
    const instance = await startApps(bench, apps);
    const storm = stormOf(instance);
    const [first] = storm.requests;
    const answer = Buffer.from(storm.expected[0] ?? '');
    if (first === undefined) throw new Error('there is nothing to change');
    const request: Request = { ...first, bodies: storm.requests.map(({ body }) => body) };
    const contenders = {
      ours: { server: instance.gangway, request, check: sameBytes(answer) },
      [one]: { server: await startSyncing(bench, answer), request, check: sameBytes(answer) },
    };
    const results = await inTurn(bench, contenders, { seconds: bench.pick(2, 1) });
    const latency = await latencyOf(bench, contenders, storm);
    await requireKept(bench, instance);
    return [...httpRows(`updateApp of ${apps} apps, 50 connections`, results), latency];
  },
};

function stormOf(instance: AppsInstance): Storm {
  const storm: Storm = { requests: [], expected: [] };
  for (let i = 0; i < namesEach; i++) {
    for (const [at, id] of instance.appIds.entries()) {
      const name = `Name ${padded(i * apps + at)}`;
      const query = `mutation Rename($id: ID!, $name: String!) { updateApp(id: $id, name: $name) { id name } }`;
      storm.requests.push(questionRequest(instance, { query, variables: { id, name } }));
      storm.expected.push(JSON.stringify({ data: { updateApp: { id, name } } }));
    }
  }
  return storm;
}

async function startSyncing(bench: Bench, answer: Buffer): Promise<Server> {
  const dir = bench.tempDir();
  writeFileSync(join(dir, 'answer'), answer);
  return await bench.startServer('bench/bare/fsync-each.ts', [
    join(dir, 'answer'),
    join(dir, 'calls'),
  ]);
}

/** The names as they are told; every app has one that it alone was given. */
async function namesOf({ gangway, appIds }: AppsInstance): Promise<Map<string, string>> {
  const { apps: page } = await gangway.graphql<{ apps: { nodes: { id: string; name: string }[] } }>(
    `{ apps { nodes { id name } } }`,
  );
  for (const { id, name } of page.nodes) {
    const number = Number(/^Name (\d{6})$/.exec(name)?.[1] ?? Number.NaN);
    if (number % apps === appIds.indexOf(id)) continue;
    throw new Error(`${id} has the name ${name}, which it was not given`);
  }
  return new Map(page.nodes.map(({ id, name }) => [id, name]));
}

/** What was answered is there after a crash. */
async function requireKept(bench: Bench, instance: AppsInstance): Promise<void> {
  const told = await namesOf(instance);
  await bench.crash(instance.gangway);
  const { openStore } = await bench.module<typeof Stores>('src/store/store.ts');
  const { tables } = await bench.module<typeof AllTables>('src/store/records/tables.ts');
  const quiet = (): void => undefined;
  const logger = { debug: quiet, info: quiet, warn: quiet, error: quiet, fatal: quiet };
  const store = await openStore({ dir: instance.gangway.dataDir, logger });
  try {
    for (const [id, name] of told) {
      const kept = store.get(tables.apps, id)?.name;
      if (kept !== name) throw new Error(`${id} was told to be ${name}, and is kept as ${kept}`);
    }
  } finally {
    await store.close();
  }
}

/** At a pace that one fsync for each can bear; every single answer is looked at. */
async function latencyOf(
  bench: Bench,
  { ours, [one]: synced }: Record<'ours' | typeof one, { server: Server }>,
  { requests, expected }: Storm,
): Promise<Row> {
  const rounds: Record<'ours' | typeof one, LatencyMs[]> = { ours: [], [one]: [] };
  const call = async (server: Server, answers: string[]): Promise<LatencyMs> => {
    const calls = requests.map((request, i) => ({
      request,
      share: 1,
      expected: answers[i] ?? '',
    }));
    const seconds = bench.pick(3, 1);
    const { latency } = await openLoop(bench, server, {
      calls,
      connections: 50,
      perSecond,
      seconds,
    });
    return latency;
  };
  const same = expected.map(() => expected[0] ?? '');
  await bench.eachRound(3, async () => {
    rounds.ours.push(await call(ours.server, expected));
    if (!bench.oursOnly) rounds[one].push(await call(synced.server, same));
  });
  return row({
    group: `updateApp of ${apps} apps`,
    what: `latency at ${perSecond} req/s, 99th percentile`,
    unit: 'ms',
    better: 'lower',
    rounds: { ours: rounds.ours.map(({ p99 }) => p99), [one]: rounds[one].map(({ p99 }) => p99) },
    percentiles: middles(rounds),
    note: 'open loop',
  });
}
