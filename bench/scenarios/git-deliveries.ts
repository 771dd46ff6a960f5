/**
 * Deliveries of a git provider that sends everything again and again, in no order: each is answered once it is durable,
 * and each app has its newest commit to deploy, once.
 */
import { createHmac } from 'node:crypto';
import { holdBuilds } from '../deploy.ts';
import type { Gangway, Scenario } from '../harness.ts';
import { openLoop, openLoopNote, type OpenResult } from '../load/open-loop.ts';
import type { PacedCall } from '../load/paced.ts';
import { row } from '../model.ts';
import { middles } from '../rounds.ts';

const secret = 'what the provider signs with';
const apps = 10;
const pushesEach = 5;
const deliveries = 1_000;

interface Connection {
  /** Of the webhook. */
  path: string;
  /** Of its apps, in the order of their repositories. */
  appIds: string[];
}

export const scenario: Scenario = {
  title: '1,000 deliveries of 50 pushes of git, within 10 s',
  async run(bench) {
    const ours = await bench.startGangway({
      GANGWAY_BUILD_CONCURRENCY: '1',
      GANGWAY_LOG_LEVEL: 'warn',
    });
    // What is asked for stays in the queue, where a later push changes what it is of.
    await holdBuilds(bench, ours);
    const results: OpenResult[] = [];
    const count = bench.pick(deliveries, 100);
    const seconds = bench.pick(10, 1);
    await bench.eachRound(3, async (round) => {
      const connection = await connect(ours, round);
      const calls = callsOf(connection, round);
      results.push(await openLoop(bench, ours, { seconds, perSecond: count / seconds, calls }));
      await requireNewest(ours, connection, round);
    });
    const latencies = results.map(({ latency }) => latency);
    return [
      row({
        what: 'latency of an answer, 99th percentile',
        unit: 'ms',
        better: 'lower',
        rounds: { ours: latencies.map(({ p99 }) => p99) },
        percentiles: middles({ ours: latencies }),
        goals: [{ value: 50 }],
        note: openLoopNote(results.map(({ late }) => late)),
      }),
      row({
        what: 'CPU of the server',
        unit: 'us/req',
        better: 'lower',
        rounds: { ours: results.map(({ cpuUs }) => cpuUs) },
      }),
    ];
  },
};

async function connect(ours: Gangway, round: number): Promise<Connection> {
  const { connectGitProvider } = await ours.graphql<{
    connectGitProvider: { id: string; webhookUrl: string };
  }>(
    `mutation ($label: String!, $secret: String!) { connectGitProvider(input: {provider: "gitea",
      label: $label, baseUrl: "https://git.example", webhookSecret: $secret}) { id webhookUrl } }`,
    { label: `Round ${round}`, secret },
  );
  const { id: connectionId, webhookUrl } = connectGitProvider;
  const appIds: string[] = [];
  for (let i = 0; i < apps; i++) {
    const { createApp } = await ours.graphql<{ createApp: { id: string } }>(
      `mutation ($name: String!, $git: GitSourceInput!) {
        createApp(input: {name: $name, source: GIT, git: $git}) { id } }`,
      {
        name: `Shop ${round} ${i}`,
        git: { connectionId, repository: `acme/shop-${i}`, branch: 'main' },
      },
    );
    appIds.push(createApp.id);
  }
  return { path: new URL(webhookUrl).pathname, appIds };
}

/** Each push as often as any other. The order is none of theirs. */
function callsOf({ path, appIds }: Connection, round: number): PacedCall[] {
  const calls = appIds.flatMap((_, app) =>
    Array.from({ length: pushesEach }, (_, push) => {
      const body = bodyOf(round, app, push);
      const headers = {
        'content-type': 'application/json',
        'x-gitea-event': 'push',
        'x-gitea-delivery': `${round}-${app}-${push}`,
        'x-gitea-signature': createHmac('sha256', secret).update(body).digest('hex'),
      };
      return { request: { path, method: 'POST', headers, body }, share: 1, expected: 'ok' };
    }),
  );
  return calls.flatMap((_, i) => calls[(i * 17) % calls.length] ?? []);
}

/** The last of an app is the newest. */
function bodyOf(round: number, app: number, push: number): string {
  const id = commitOf(round, app, push);
  const timestamp = new Date(Date.UTC(2026, 0, 1, 0, push)).toISOString();
  const commit = { id, message: 'Change', timestamp, added: [], removed: [], modified: ['a'] };
  return JSON.stringify({
    ref: 'refs/heads/main',
    before: commitOf(round, app, push - 1),
    after: id,
    commits: [commit],
    total_commits: 1,
    head_commit: commit,
    repository: { full_name: `acme/shop-${app}` },
    pusher: { login: 'ada' },
    // About as long as the real ones.
    text: 'x'.repeat(4_000),
  });
}

function commitOf(round: number, app: number, push: number): string {
  return ((round * apps + app) * 100 + push + 1).toString(16).padStart(40, '0');
}

/** Each app waits to deploy its newest commit, and nothing else. */
async function requireNewest(ours: Gangway, { appIds }: Connection, round: number): Promise<void> {
  for (const [app, id] of appIds.entries()) {
    const { app: found } = await ours.graphql<{
      app: { deployments: { nodes: { status: string; commitSha: string | null }[] } };
    }>(`query ($id: ID!) { app(id: $id) { deployments { nodes { status commitSha } } } }`, { id });
    const { nodes } = found.deployments;
    const newest = commitOf(round, app, pushesEach - 1);
    const isRight = nodes.length === 1 && nodes[0]?.status === 'queued';
    if (isRight && nodes[0]?.commitSha === newest) continue;
    throw new Error(`it has ${JSON.stringify(nodes)}, not ${newest} alone`);
  }
}
