import { createUploadApp, deployFiles } from '../deploy.ts';
import { freePort, type Gangway, pidsOf } from '../gangway.ts';
import type { Bench, Scenario } from '../harness.ts';
import { type CountedLine, countedLine } from '../load/counted-line.ts';
import { printer } from '../load/numbered-lines.ts';
import { logPath, readTails } from '../load/tails-of.ts';
import { type Row, row } from '../model.ts';
import { usageOf } from '../processes.ts';

const lineBytes = 100;
/** What the agent dials: the line, behind which is the port of its control plane. */
const lineHost = '127.0.0.2';

interface Place {
  gangway: Gangway;
  appId: string;
  /** Of all programs of ours that have to do with it, besides Gangway itself. */
  dataDirs: string[];
}

interface Reading {
  cpuUs: number;
  allUs: number;
  linkBytes: number;
}

export const scenario: Scenario = {
  title:
    'the log of an app on another server, against one at home: the link carries each line once',
  async run(bench) {
    const perSecond = bench.pick(1000, 200);
    const files = {
      Procfile: 'web: node app.js\n',
      'app.js': printer({ perSecond, bytes: lineBytes }),
    };
    const home = await bench.startGangway();
    const appId = await createUploadApp(home, 'local');
    const local = { gangway: home, appId, dataDirs: [home.dataDir] };
    await deployFiles(bench, home, local.appId, files);
    const { remote, line } = await startRemote(bench);
    try {
      await deployFiles(bench, remote.gangway, remote.appId, files);
      const rows: Row[] = [];
      for (const tails of bench.pick([1, 100], [1, 10])) {
        rows.push(...(await compare(bench, { local, remote, line, tails, perSecond })));
      }
      return rows;
    } finally {
      line.close();
    }
  },
};

async function startRemote(bench: Bench): Promise<{ remote: Place; line: CountedLine }> {
  const [port, agentPort] = [await freePort(), await freePort()];
  const line = await countedLine(lineHost, agentPort);
  const gangway = await bench.startGangway({
    GANGWAY_PORT: String(port),
    GANGWAY_HOST: '0.0.0.0',
    GANGWAY_PUBLIC_URL: `http://${lineHost}:${port}`,
    GANGWAY_AGENT_HOST: '127.0.0.1',
    GANGWAY_AGENT_PORT: String(agentPort),
  });
  const { addServer } = await gangway.graphql<{
    addServer: { server: { id: string }; bootstrapToken: string };
  }>('mutation { addServer(name: "other") { server { id } bootstrapToken } }');
  const dataDir = bench.tempDir();
  await bench.startAgent(dataDir, gangway.url, addServer.bootstrapToken);
  await untilConnected(gangway, addServer.server.id);
  const appId = await createUploadApp(gangway, 'remote', addServer.server.id);
  return { remote: { gangway, appId, dataDirs: [gangway.dataDir, dataDir] }, line };
}

async function untilConnected(gangway: Gangway, id: string): Promise<void> {
  const untilMs = performance.now() + 30_000;
  for (;;) {
    const { servers } = await gangway.graphql<{ servers: { id: string; connected: boolean }[] }>(
      '{ servers { id connected } }',
    );
    if (servers.some((one) => one.id === id && one.connected)) return;
    if (performance.now() > untilMs) throw new Error('the agent is not connected');
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

interface Comparison {
  local: Place;
  remote: Place;
  line: CountedLine;
  tails: number;
  perSecond: number;
}

async function compare(bench: Bench, given: Comparison): Promise<Row[]> {
  const { local, remote, line, tails, perSecond } = given;
  const readings: Record<'local' | 'remote', Reading[]> = { local: [], remote: [] };
  await bench.eachRound(3, async (round) => {
    const both = [['local', local] as const, ['remote', remote] as const];
    for (const [name, place] of round % 2 === 0 ? both : both.reverse()) {
      readings[name].push(await read(bench, place, { line, tails, perSecond }));
    }
  });
  const group = `${perSecond} lines of ${lineBytes} bytes a second, ${tails} tails`;
  const figures = (key: keyof Reading) => ({
    ours: readings.remote.map((reading) => reading[key]),
    'at home': readings.local.map((reading) => reading[key]),
  });
  const limits = bench.quick ? [] : [{ against: 'at home', ratio: 1.5 }];
  return [
    row({
      group,
      what: 'CPU of Gangway',
      unit: 'us/line',
      better: 'lower',
      rounds: figures('cpuUs'),
      goals: limits,
      note: 'with what stores the lines',
    }),
    row({
      group,
      what: 'CPU of Gangway, agent, runners and edges',
      unit: 'us/line',
      better: 'lower',
      rounds: figures('allUs'),
      goals: limits,
      note: 'all on this machine',
    }),
    row({
      group,
      what: 'on the link',
      unit: 'bytes/line',
      better: 'lower',
      rounds: { ours: readings.remote.map(({ linkBytes }) => linkBytes) },
      goals: [{ value: 2 * lineBytes }],
      note: 'both ways, with all that keeps it alive',
    }),
  ];
}

/** While the tails are read, and opening them is over. */
async function read(
  bench: Bench,
  place: Place,
  { line, tails, perSecond }: Pick<Comparison, 'line' | 'tails' | 'perSecond'>,
): Promise<Reading> {
  const { gangway, appId, dataDirs } = place;
  const [warmUpSeconds, seconds] = [2, bench.pick(8, 2)];
  const counted = readTails(bench, gangway, {
    ...{ paths: [logPath(appId)], tailsOfEach: tails, warmUpSeconds, seconds },
  });
  // One that fails is told below.
  counted.catch(() => undefined);
  await pause(warmUpSeconds + 1);
  const before = usage(gangway, dataDirs, line);
  await pause(seconds - 1);
  const after = usage(gangway, dataDirs, line);
  await counted;
  const lines = ((after.atMs - before.atMs) / 1000) * perSecond;
  const each = (key: keyof Reading): number => (after[key] - before[key]) / lines;
  return {
    cpuUs: each('cpuUs'),
    allUs: each('allUs'),
    linkBytes: each('linkBytes'),
  };
}

function usage(
  { pid }: Gangway,
  dataDirs: readonly string[],
  line: CountedLine,
): Reading & { atMs: number } {
  const { cpuUs } = usageOf(pid);
  const others = dataDirs.flatMap((dir) => pidsOf(dir)).map((one) => usageOf(one).cpuUs);
  const allUs = others.reduce((sum, one) => sum + one, cpuUs);
  return { atMs: performance.now(), cpuUs, allUs, linkBytes: line.bytes() };
}

async function pause(s: number): Promise<void> {
  await new Promise((resolve) => setTimeout(resolve, s * 1000));
}
