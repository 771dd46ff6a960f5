import { createUploadApp, deployFiles } from '../deploy.ts';
import type { Gangway, Server } from '../gangway.ts';
import type { Bench, Scenario } from '../harness.ts';
import type { TailCount, Tails } from '../load/tails.ts';
import { type Goal, type Row, row } from '../model.ts';
import { startPeer } from '../peers.ts';
import { cpuTickUs, rssWhile, usageOf } from '../processes.ts';

/** Prints 10 lines of 80 bytes every 25 ms: each flush has something to send. */
const chatty = `
const line = 'x'.repeat(79) + '\\n';
require('node:http').createServer((q, r) => r.end('ok')).listen(process.env.PORT);
setInterval(() => process.stdout.write(line.repeat(10)), 25);
`;
/** How often Gangway flushes a busy log at least, where nothing holds it up. */
const flushesPerS = 20;

const nodeHttp = 'node:http';
const fastify = 'fastify';

interface Round {
  framesPerS: number;
  framesPerCpuS: number;
  bytesPerFrame: number;
}

export const scenario: Scenario = {
  title:
    'the log of one app to many tails, against loops that write frames of the same size and pace',
  async run(bench) {
    const tails = bench.pick(2000, 200);
    const ours = await bench.startGangway({ GANGWAY_MAX_LOG_STREAMS_PER_USER: '50000' });
    const chattyId = await createUploadApp(ours, 'chatty');
    await deployFiles(bench, ours, chattyId, { Procfile: 'web: node app.js\n', 'app.js': chatty });
    return [
      ...(await fanOut(bench, ours, chattyId, tails)),
      await stalledMemory(bench, ours, chattyId),
    ];
  },
};

async function fanOut(bench: Bench, ours: Gangway, appId: string, tails: number): Promise<Row[]> {
  const load = tailsOf(ours, appId, tails);
  const sample = await round(bench, ours, load);
  const others = bench.oursOnly ? [] : await startOthers(bench, sample, tails);
  const rounds = [['ours', ours] as const, ...others].map(([name, server]) => {
    return { name, server, results: [] as Round[] };
  });
  await bench.eachRound(3, async (number) => {
    for (let i = 0; i < rounds.length; i++) {
      const one = rounds[(i + number) % rounds.length];
      if (one === undefined) continue;
      const { server, results } = one;
      const path = server === ours ? load : { port: server.port, path: '/', headers: {}, tails };
      results.push(await round(bench, server, path));
    }
  });
  const group = `one app to ${tails.toLocaleString('en')} tails`;
  const figures = (key: keyof Round) => ({
    ours: [],
    ...Object.fromEntries(
      rounds.map(({ name, results }) => [name, results.map((result) => result[key])]),
    ),
  });
  const goalsOf = (goals: Goal[]): Goal[] => (others.length === 0 ? [] : goals);
  return [
    row({
      group,
      what: 'delivered',
      unit: 'frames/s',
      better: 'higher',
      rounds: figures('framesPerS'),
      goals: goalsOf([{ against: 'bare', ratio: 0.9 }]),
      note: `${flushesPerS} frames a second to each`,
    }),
    row({
      group,
      what: 'delivered in a second of CPU of the server',
      unit: 'frames/s',
      better: 'higher',
      rounds: figures('framesPerCpuS'),
      goals: goalsOf([
        { against: 'bare', ratio: 0.9 },
        { against: nodeHttp, ratio: 4 },
      ]),
      note: 'what one core could deliver',
    }),
  ];
}

/** They send as many bytes a second, in as many frames as Gangway would where nothing holds it up. */
async function startOthers(
  bench: Bench,
  { bytesPerFrame, framesPerS }: Round,
  tails: number,
): Promise<[string, Server][]> {
  const pacePerS = Math.max(flushesPerS, framesPerS / tails);
  const frameBytes = (bytesPerFrame * framesPerS) / tails / pacePerS;
  const args = [frameBytes, 1000 / pacePerS].map((value) => String(Math.round(value)));
  return [
    ['bare', await bench.startServer('bench/bare/tails.ts', args)],
    [nodeHttp, await startPeer(bench, 'sse-node-http.ts', args)],
    [fastify, await startPeer(bench, 'sse-fastify.ts', args)],
  ];
}

type Load = Pick<Tails, 'port' | 'path' | 'headers' | 'tails'>;

function tailsOf(server: Gangway, appId: string, tails: number): Load {
  const path = `/api/apps/${appId}/logs?tail=0`;
  return { port: server.port, path, headers: { Cookie: server.cookie }, tails };
}

async function round(bench: Bench, server: Server, load: Load): Promise<Round> {
  const seconds = bench.pick(2, 1);
  const { pid } = server;
  const args: Tails = { pid, stalled: 0, warmUpSeconds: 1, seconds, silent: false, ...load };
  // The CPU of opening the streams is left out.
  const counted = await bench.load<TailCount>('bench/load/tails.ts', args);
  const { frames, bytes, cpuUs } = counted;
  return {
    framesPerS: frames / counted.seconds,
    framesPerCpuS: (frames * 1e6) / Math.max(cpuUs, cpuTickUs),
    bytesPerFrame: bytes / frames,
  };
}

async function stalledMemory(bench: Bench, ours: Gangway, appId: string): Promise<Row> {
  const before = usageOf(ours.pid).rssBytes;
  const load: Tails = {
    ...tailsOf(ours, appId, 10),
    pid: ours.pid,
    stalled: 200,
    warmUpSeconds: 1,
    seconds: bench.pick(8, 2),
    silent: false,
  };
  const readings = await rssWhile(ours.pid, bench.load('bench/load/tails.ts', load));
  return row({
    what: '200 tails that read nothing',
    unit: 'MiB',
    better: 'lower',
    rounds: { ours: [Math.max(0, ...readings.map((bytes) => bytes - before)) / 2 ** 20] },
    goals: [{ value: 20 }],
    note: 'what RSS grows by at most',
  });
}
