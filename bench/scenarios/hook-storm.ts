/**
 * A storm of deploy hooks, each for an app of its own, so that each has a deployment to store: against a
 * program that writes and syncs one record for each call. What was answered is looked for after a crash.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type * as Stores from '../../src/store/store.ts';
import type * as AllTables from '../../src/store/records/tables.ts';
import { holdBuilds } from '../deploy.ts';
import type { Bench, Scenario, Server } from '../harness.ts';
import { sendEach } from '../load/calls.ts';
import type { CallsResult } from '../load/calls.ts';
import { row } from '../model.ts';
import type { Goal, Rounds, Row } from '../model.ts';
import { middles } from '../rounds.ts';
import { hookRequests, seed } from '../seed.ts';
import type { Seeded, SeededApp } from '../seed.ts';

const one = 'one fsync a call';
const connections = 50;
const storming = `${connections} callers at once`;

interface Storm {
  ours: CallsResult[];
  [one]: CallsResult[];
}

export const scenario: Scenario = {
  title: 'deploy hooks, each durable before it is answered, against one fsync for each',
  async run(bench) {
    const callsEach = bench.pick(4_000, 100);
    const rounds = bench.pick(4, 1);
    // It is compiled for what is hot while it runs: so many calls it takes until it gets no faster.
    const warmUps = bench.pick(3, 1);
    const seeded = await seed(bench, { apps: callsEach * (rounds + warmUps) });
    const ours = await bench.startGangway({
      GANGWAY_DATA_DIR: seeded.dataDir,
      GANGWAY_BUILD_CONCURRENCY: '1',
      GANGWAY_LOG_LEVEL: 'warn',
    });
    await holdBuilds(bench, ours);
    const synced = await startSyncing(bench);
    const deployed = new Map<string, string>();
    const storm = async (apps: readonly SeededApp[], at: number): Promise<CallsResult> => {
      const result = await sendEach(bench, ours, hookRequests(seeded, apps), at);
      remember(deployed, apps, result.answers);
      return result;
    };
    const appsOf = (turn: number) => seeded.apps.slice(callsEach * turn, callsEach * (turn + 1));
    for (let turn = 0; turn < warmUps; turn++) await storm(appsOf(turn), connections);
    const many: Storm = { ours: [], [one]: [] };
    const alone: Storm = { ours: [], [one]: [] };
    await bench.eachRound(rounds, async (round) => {
      const apps = appsOf(warmUps + round);
      const few = apps.slice(0, callsEach / 10);
      const rest = apps.slice(few.length);
      many.ours.push(await storm(rest, connections));
      alone.ours.push(await storm(few, 1));
      if (bench.oursOnly) return;
      // It is so much slower that a part of the calls takes as long.
      const part = hookRequests(seeded, rest.slice(0, callsEach / 4));
      many[one].push(await sendEach(bench, synced, part, connections));
      alone[one].push(await sendEach(bench, synced, hookRequests(seeded, few), 1));
    });
    await bench.crash(ours);
    await requireStored(bench, seeded, deployed);
    return [
      ...rowsOf(storming, many, [{ against: one, ratio: 10 }]),
      row({
        group: storming,
        what: 'CPU of the server',
        unit: 'us/req',
        better: 'lower',
        rounds: { ours: many.ours.map(({ cpuUs }) => cpuUs) },
      }),
      ...rowsOf('one caller alone', alone, []),
    ];
  },
};

async function startSyncing(bench: Bench): Promise<Server> {
  const dir = bench.tempDir();
  const answer = join(dir, 'answer');
  writeFileSync(answer, JSON.stringify({ status: 'queued' }));
  return await bench.startServer('bench/bare/fsync-each.ts', [answer, join(dir, 'calls')]);
}

/** Each call was answered with a deployment of its own app, that nobody else was given. */
function remember(
  deployed: Map<string, string>,
  apps: readonly SeededApp[],
  answers: readonly string[],
): void {
  for (const [i, app] of apps.entries()) {
    const answer = JSON.parse(answers[i] ?? 'null') as Record<string, unknown> | null;
    const { deploymentId, appId, status } = answer ?? {};
    const isRight = typeof deploymentId === 'string' && appId === app.id && status === 'queued';
    if (!isRight || deployed.has(deploymentId)) throw new Error(`wrong answer: ${answers[i]}`);
    deployed.set(deploymentId, app.id);
  }
}

/** What was answered is there after a crash: every deployment, queued, as the latest of its app. */
async function requireStored(
  bench: Bench,
  { dataDir }: Seeded,
  deployed: ReadonlyMap<string, string>,
): Promise<void> {
  const { openStore } = await bench.module<typeof Stores>('src/store/store.ts');
  const { tables } = await bench.module<typeof AllTables>('src/store/records/tables.ts');
  const quiet = (): void => undefined;
  const logger = { debug: quiet, info: quiet, warn: quiet, error: quiet, fatal: quiet };
  const store = await openStore({ dir: dataDir, logger });
  try {
    for (const [deploymentId, appId] of deployed) {
      const deployment = store.get(tables.deployments, deploymentId);
      const app = store.get(tables.apps, appId);
      const isThere = deployment?.appId === appId && deployment.status === 'queued';
      if (isThere && app?.latestDeploymentId === deploymentId) continue;
      throw new Error(`${deploymentId} was answered and is not stored`);
    }
  } finally {
    await store.close();
  }
}

function rowsOf(group: string, storm: Storm, goals: Goal[]): Row[] {
  const rounds = (read: (result: CallsResult) => number): Rounds => ({
    ours: storm.ours.map(read),
    [one]: storm[one].map(read),
  });
  const latencies = (list: readonly CallsResult[]) => list.map(({ latency }) => latency);
  return [
    row({
      group,
      what: 'calls',
      unit: 'req/s',
      better: 'higher',
      rounds: rounds(({ calls, seconds }) => calls / seconds),
      goals,
      note: 'each for an app that nothing waits for',
    }),
    row({
      group,
      what: 'latency, 99th percentile',
      unit: 'ms',
      better: 'lower',
      rounds: rounds(({ latency }) => latency.p99),
      percentiles: middles({ ours: latencies(storm.ours), [one]: latencies(storm[one]) }),
      note: 'closed loop',
    }),
  ];
}
