/**
 * What memory Gangway holds after each kind of load, over and over: a flood of a log with tails, uploads
 * at once, GraphQL and MCP. What is not let go of shows as growth from round to round.
 */
import { createUploadApp, deployFiles, untilActive } from '../deploy.ts';
import { questionRequest } from '../graphql/instance.ts';
import { heavy, medium, renamed } from '../graphql/documents.ts';
import type { Bench, Gangway, Scenario } from '../harness.ts';
import { sendEach } from '../load/calls.ts';
import type { RequestParts } from '../load/requests.ts';
import type { Tails } from '../load/tails.ts';
import { logPath } from '../load/tails-of.ts';
import { callRequest, listRequest, newToken, unlimited } from '../mcp/instance.ts';
import { row } from '../model.ts';
import type { Row } from '../model.ts';
import { usageOf } from '../processes.ts';
import { seed } from '../seed.ts';
import { sourceTars } from '../upload/archives.ts';
import type { Archive } from '../upload/archives.ts';
import { gangwayTarget, speed } from '../upload/targets.ts';
import type { Target } from '../upload/targets.ts';

interface Instance {
  gangway: Gangway;
  appId: string;
  /** Of a team with many apps. */
  token: string;
  mcpToken: string;
  uploads: Target;
  archive: Archive;
}

const uploadsAtOnce = 8;
const connections = 20;
/** V8 gives back the room of a load by itself, within some twenty seconds of rest. */
const restMs = 30_000;
/** What the process promises to hold at most once a load is over. */
const goalMiB = 220;

export const scenario: Scenario = {
  title: 'memory after floods of logs, uploads, GraphQL and MCP, again and again',
  async run(bench) {
    const instance = await start(bench);
    const { gangway } = instance;
    const loads: Record<string, () => Promise<unknown>> = {
      'a flood of a log to 20 tails': () => flood(bench, instance),
      'uploads, 8 at once': () => speed(bench, instance.uploads, instance.archive, uploadsAtOnce),
      GraphQL: () => sendEach(bench, gangway, questions(bench, instance), connections),
      MCP: () => sendEach(bench, gangway, calls(bench, instance), connections),
    };
    const restMiB = [usageOf(gangway.pid).rssBytes / 2 ** 20];
    const after = new Map(Object.keys(loads).map((name) => [name, [] as number[]]));
    await bench.eachRound(4, async () => {
      for (const [name, load] of Object.entries(loads)) {
        await load();
        await new Promise((resolve) => setTimeout(resolve, bench.pick(restMs, 1_000)));
        after.get(name)?.push(usageOf(gangway.pid).rssBytes / 2 ** 20);
      }
    });
    return [
      memoryRow('before any load', restMiB),
      ...[...after].map(([name, mib]) => memoryRow(`after ${name}`, mib)),
      memoryRow('after all of it, at the end', [after.get('MCP')?.at(-1) ?? Number.NaN]),
    ];
  },
};

function memoryRow(what: string, mib: number[]): Row {
  return row({
    what,
    unit: 'MiB',
    better: 'lower',
    rounds: { ours: mib },
    goals: [{ value: goalMiB }],
    note: 'RSS, half a minute after the load',
  });
}

async function start(bench: Bench): Promise<Instance> {
  const { dataDir, tokens } = await seed(bench, { apps: 500 });
  const gangway = await bench.startGangway({
    ...unlimited,
    GANGWAY_DATA_DIR: dataDir,
    GANGWAY_LOG_LEVEL: 'warn',
  });
  await gangway.graphql(`mutation { setMcpSettings(enabled: true) { enabled } }`);
  const appId = await createUploadApp(gangway, 'flood');
  await deployFiles(bench, gangway, appId, printer(bench.pick(600_000, 60_000)));
  const sourceTar = await sourceTars(bench);
  return {
    gangway,
    appId,
    token: tokens[0] ?? '',
    mcpToken: await newToken(gangway, 'memory'),
    uploads: await gangwayTarget(gangway, uploadsAtOnce),
    archive: sourceTar(bench.pick(64, 4) * 2 ** 20),
  };
}

/** Prints so many lines of 100 bytes at each start, as fast as they are taken, and listens then. */
function printer(lines: number): Record<string, string> {
  const program = `
const { once } = require('node:events');
(async () => {
  for (let i = 0; i < ${lines}; i += 500) {
    const some = Array.from({ length: 500 }, (_, n) => ('line ' + (i + n)).padEnd(99, '.') + '\\n');
    if (!process.stdout.write(some.join(''))) await once(process.stdout, 'drain');
  }
  require('node:http').createServer((q, r) => r.end('ok')).listen(process.env.PORT);
})();
`;
  return { Procfile: 'web: node app.js\n', 'app.js': program };
}

async function flood(bench: Bench, { gangway, appId }: Instance): Promise<void> {
  const tails: Tails = {
    port: gangway.port,
    pid: gangway.pid,
    path: logPath(appId),
    headers: { Cookie: gangway.cookie },
    tails: 20,
    stalled: 5,
    silent: false,
    warmUpSeconds: 0,
    seconds: bench.pick(10, 2),
  };
  const read = bench.load('bench/load/tails.ts', tails);
  await gangway.graphql(`mutation ($id: ID!) { restartApp(id: $id) { id } }`, { id: appId });
  await untilActive(gangway, appId);
  await read;
}

/** Texts that were never seen, and large answers. */
function questions(bench: Bench, { token }: Instance): RequestParts[] {
  return Array.from({ length: bench.pick(5_000, 200) }, (_, i) =>
    questionRequest({ token }, { query: renamed(i % 20 === 0 ? heavy : medium, i) }, i),
  );
}

function calls(bench: Bench, { appId, mcpToken }: Instance): RequestParts[] {
  const kinds = [
    listRequest(mcpToken),
    callRequest('list_apps', { first: 20 }, mcpToken),
    callRequest('read_logs', { appId, tail: 200 }, mcpToken),
  ];
  return Array.from(
    { length: bench.pick(6_000, 300) },
    (_, i) => kinds[i % kinds.length] as RequestParts,
  );
}
