import { createUploadApp, deployFiles } from '../deploy.ts';
import { compare, median, usageOf } from '../harness.ts';
import type { Bench, Gangway, Row, Scenario, Server } from '../harness.ts';
import type { TailCount, Tails } from '../load/tails.ts';

/** Prints 10 lines of 80 bytes every 25 ms: each flush of 50 ms has something to send. */
const chatty = `
const line = 'x'.repeat(79) + '\\n';
require('node:http').createServer((q, r) => r.end('ok')).listen(process.env.PORT);
setInterval(() => process.stdout.write(line.repeat(10)), 25);
`;
const quiet = `require('node:http').createServer((q, r) => r.end('ok')).listen(process.env.PORT);`;

interface Round {
  framesPerS: number;
  bytesPerFrame: number;
  cpuUsPerFrame: number;
}

export const scenario: Scenario = {
  title:
    'N tails of one app, against a bare corked write loop with frames of the same size and pace',
  async run(bench) {
    const tails = bench.pick(2000, 200);
    const ours = await bench.startGangway({ GANGWAY_MAX_LOG_STREAMS_PER_USER: '50000' });
    const chattyId = await createUploadApp(ours, 'chatty');
    const quietId = await createUploadApp(ours, 'quiet');
    await deployFiles(bench, ours, chattyId, { Procfile: 'web: node app.js\n', 'app.js': chatty });
    await deployFiles(bench, ours, quietId, { Procfile: 'web: node app.js\n', 'app.js': quiet });

    const idleRow = await idleMemory(bench, ours, quietId, tails);
    const rounds: { ours: Round[]; bare: Round[] } = { ours: [], bare: [] };
    const first = await round(bench, ours, tailsOf(ours, chattyId, tails));
    const bare = await bench.startServer('bench/bare/tails.ts', [
      String(Math.round(first.bytesPerFrame)),
      String(Math.round((1000 * tails) / first.framesPerS)),
    ]);
    for (let i = 0; i < bench.pick(5, 1); i++) {
      rounds.ours.push(await round(bench, ours, tailsOf(ours, chattyId, tails)));
      rounds.bare.push(
        await round(bench, bare, { port: bare.port, path: '/', headers: {}, tails }),
      );
    }
    const row = (what: string, unit: string, goal: string, key: keyof Round): Row =>
      compare(
        what,
        unit,
        goal,
        rounds.ours.map((one) => one[key]),
        rounds.bare.map((one) => one[key]),
      );
    return [
      row(`frames to ${tails} tails`, 'frames/s', '>= 0.8', 'framesPerS'),
      row('CPU of the server', 'us/frame', '<= 1.25', 'cpuUsPerFrame'),
      row('frame', 'bytes', '', 'bytesPerFrame'),
      idleRow,
      await stalledMemory(bench, ours, chattyId),
    ];
  },
};

type Load = Pick<Tails, 'port' | 'path' | 'headers' | 'tails'>;

function tailsOf(server: Gangway, appId: string, tails: number): Load {
  const path = `/api/apps/${appId}/logs?tail=0`;
  return { port: server.port, path, headers: { Cookie: server.cookie }, tails };
}

async function round(bench: Bench, server: Server, load: Load): Promise<Round> {
  const seconds = bench.pick(4, 1);
  const args: Tails = { stalled: 0, warmUpSeconds: 1, seconds, ...load };
  // The CPU of opening the streams is left out: readings are taken while the tails are counted.
  const counted = bench.load<TailCount>('bench/load/tails.ts', args);
  const perS = await steadyCpu(server, counted);
  const { frames, bytes, seconds: took } = await counted;
  if (frames === 0) throw new Error('no frame came');
  const framesPerS = frames / took;
  return { framesPerS, bytesPerFrame: bytes / frames, cpuUsPerFrame: perS / framesPerS };
}

function watch(work: Promise<unknown>): { over: boolean } {
  const state = { over: false };
  const end = (): void => {
    state.over = true;
  };
  work.then(end, end);
  return state;
}

/** Median CPU microseconds a second over the last readings before the load ended. */
async function steadyCpu(server: Server, ended: Promise<unknown>): Promise<number> {
  const readings: number[] = [];
  const state = watch(ended);
  let last = { atMs: performance.now(), cpuUs: usageOf(server.pid).cpuUs };
  while (!state.over) {
    await new Promise((resolve) => setTimeout(resolve, 250));
    const now = { atMs: performance.now(), cpuUs: usageOf(server.pid).cpuUs };
    readings.push(((now.cpuUs - last.cpuUs) / (now.atMs - last.atMs)) * 1000);
    last = now;
  }
  return median(readings.slice(-Math.max(2, Math.floor(readings.length / 2)), -1));
}

async function peakRss(server: Server, load: Promise<unknown>): Promise<number> {
  const state = watch(load);
  let peak = 0;
  while (!state.over) {
    peak = Math.max(peak, usageOf(server.pid).rssBytes);
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  await load;
  return peak;
}

async function idleMemory(bench: Bench, ours: Gangway, appId: string, tails: number): Promise<Row> {
  const load = tailsOf(ours, appId, tails);
  const run = (seconds: number): Promise<unknown> =>
    bench.load('bench/load/tails.ts', { stalled: 0, warmUpSeconds: 0, seconds, ...load });
  // Once before, so that what the first tails bring into memory is not counted as theirs.
  await bench.load('bench/load/tails.ts', {
    ...load,
    stalled: 0,
    warmUpSeconds: 0,
    seconds: 1,
    tails: 50,
  });
  const before = usageOf(ours.pid).rssBytes;
  const peak = await peakRss(ours, run(bench.pick(5, 1)));
  const value = (peak - before) / tails / 1024;
  return {
    what: `idle tail (${tails} open)`,
    ours: value,
    against: null,
    unit: 'KiB',
    ratio: null,
    goal: '<= 6',
  };
}

async function stalledMemory(bench: Bench, ours: Gangway, appId: string): Promise<Row> {
  const before = usageOf(ours.pid).rssBytes;
  const load = {
    ...tailsOf(ours, appId, 10),
    stalled: 200,
    warmUpSeconds: 1,
    seconds: bench.pick(30, 2),
  };
  const peak = await peakRss(ours, bench.load('bench/load/tails.ts', load));
  const value = (peak - before) / 2 ** 20;
  return {
    what: '200 stalled tails',
    ours: value,
    against: null,
    unit: 'MiB',
    ratio: null,
    goal: '<= 20',
  };
}
