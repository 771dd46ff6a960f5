/**
 * How long lines are on their way to many tails of one app: alone, beside tails that read nothing, and
 * after all lost their connection at once.
 */
import { createUploadApp, deployFiles } from '../deploy.ts';
import type { Bench, Gangway, Scenario } from '../harness.ts';
import { printer } from '../load/numbered-lines.ts';
import { logPath, readTails } from '../load/tails-of.ts';
import type { LogTailsResult } from '../load/log-tails.ts';
import { row } from '../model.ts';
import type { Row } from '../model.ts';
import { middles } from '../rounds.ts';

const perSecond = 100;
const lineBytes = 100;

export const scenario: Scenario = {
  title: 'lines that are due on a schedule, to many tails of one app: not one lost, none twice',
  async run(bench) {
    const tails = bench.pick(1_000, 100);
    const ours = await bench.startGangway({ GANGWAY_MAX_LOG_STREAMS_PER_USER: '50000' });
    const appId = await deployPrinter(bench, ours);
    return [
      ...(await delivery(bench, ours, appId, tails)),
      ...(await slowReaders(bench, ours, appId, tails / 2)),
    ];
  },
};

async function deployPrinter(bench: Bench, ours: Gangway): Promise<string> {
  const appId = await createUploadApp(ours, 'printer');
  const source = printer({ perSecond, bytes: lineBytes });
  await deployFiles(bench, ours, appId, { Procfile: 'web: node app.js\n', 'app.js': source });
  return appId;
}

async function delivery(bench: Bench, ours: Gangway, appId: string, tails: number): Promise<Row[]> {
  const once = { paths: [logPath(appId)], tailsOfEach: tails, warmUpSeconds: 1 };
  // Also what warms ours up.
  const paceMs = paceOf(await readTails(bench, ours, { ...once, seconds: 1 }));
  const bare = await bench.startServer(
    'bench/bare/lines.ts',
    [perSecond, lineBytes, paceMs].map(String),
  );
  const rounds: Record<'ours' | 'bare', LogTailsResult[]> = { ours: [], bare: [] };
  const load = { ...once, seconds: bench.pick(3, 1) };
  await bench.eachRound(3, async () => {
    rounds.ours.push(checked(bench, await readTails(bench, ours, { ...load, awaySeconds: 1 })));
    if (bench.oursOnly) return;
    rounds.bare.push(checked(bench, await readTails(bench, bare, load)));
  });
  const group = `${tails.toLocaleString('en')} tails, ${perSecond} lines a second`;
  const storms = rounds.ours.map(({ caughtUpMs }) => caughtUpMs ?? Number.NaN);
  const missed = rounds.ours.map(({ missedLines }) => missedLines ?? Number.NaN);
  const p99 = (list: readonly LogTailsResult[]) => list.map(({ latency }) => latency.p99);
  return [
    row({
      group,
      what: 'from when a line is due to its tail, 99th percentile',
      unit: 'ms',
      better: 'lower',
      rounds: { ours: p99(rounds.ours), bare: p99(rounds.bare) },
      percentiles: middles({ ours: latencies(rounds.ours), bare: latencies(rounds.bare) }),
      goals: [{ value: 60 }],
      note: `lines on a schedule; bare: as often, one corked frame every ${paceMs} ms`,
    }),
    row({
      group,
      what: 'all connections lost, all back at once: until each has every line',
      unit: 'ms',
      better: 'lower',
      rounds: { ours: storms },
      note: `${Math.round(missed[0] ?? 0).toLocaleString('en')} lines were missed meanwhile; with Last-Event-ID`,
    }),
  ];
}

/** Milliseconds between two frames of a tail. */
function paceOf({ seconds, tails, frames }: LogTailsResult): number {
  return Math.round((seconds * 1000 * tails) / frames);
}

/**
 * About what was due was delivered, however late; what is lost or repeated is found line by line. In a smoke the
 * cores are others', too.
 */
function checked(bench: Bench, result: LogTailsResult): LogTailsResult {
  const due = result.tails * result.seconds * perSecond;
  if (!bench.quick && Math.abs(result.lines / due - 1) > 0.6) {
    throw new Error(`${result.lines} lines were delivered, not about ${Math.round(due)}`);
  }
  return result;
}

function latencies(results: readonly LogTailsResult[]) {
  return results.map(({ latency }) => latency);
}

async function slowReaders(
  bench: Bench,
  ours: Gangway,
  appId: string,
  tails: number,
): Promise<Row[]> {
  const count = bench.pick(200, 20);
  const rounds: Record<'ours' | 'alone', LogTailsResult[]> = { ours: [], alone: [] };
  const load = {
    paths: [logPath(appId)],
    tailsOfEach: tails,
    warmUpSeconds: 1,
    seconds: bench.pick(3, 1),
  };
  // As much of the past as there is: it fills what the socket takes, and then nothing is read.
  const stalled = { path: logPath(appId, 5_000), count };
  await bench.eachRound(3, async () => {
    rounds.alone.push(checked(bench, await readTails(bench, ours, load)));
    rounds.ours.push(checked(bench, await readTails(bench, ours, { ...load, stalled })));
  });
  const p99 = (list: readonly LogTailsResult[]) => list.map(({ latency }) => latency.p99);
  const group = `${tails} tails beside ${count} that read nothing`;
  return [
    row({
      group,
      what: 'to those that read, 99th percentile',
      unit: 'ms',
      better: 'lower',
      rounds: { ours: p99(rounds.ours), alone: p99(rounds.alone) },
      percentiles: middles({ ours: latencies(rounds.ours), alone: latencies(rounds.alone) }),
      goals: [{ against: 'alone', ratio: 1.2 }],
    }),
    row({
      group,
      what: 'they read again: until each has every line',
      unit: 'ms',
      better: 'lower',
      rounds: { ours: rounds.ours.map(({ recoveredMs }) => recoveredMs ?? Number.NaN) },
    }),
  ];
}
