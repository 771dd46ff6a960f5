/** Owns what others wait while something heavy goes on: for a health check, and for a line of a log. */
import { createUploadApp, deployFiles } from '../deploy.ts';
import type { Bench, Gangway } from '../harness.ts';
import { row } from '../model.ts';
import type { LatencyMs, Row } from '../model.ts';
import { middles } from '../rounds.ts';
import { once } from './http.ts';
import { printer } from './numbered-lines.ts';
import { openLoop } from './open-loop.ts';
import { logPath, readTails } from './tails-of.ts';

/** So many that the slowest hundredth of a round is more than a few. */
const healthPerSecond = 500;
const tails = 50;
const linesPerSecond = 20;
const goalRatio = 2;

/** One of a round each. */
export interface Waits {
  health: LatencyMs[];
  lines: LatencyMs[];
}

export function noWaits(): Waits {
  return { health: [], lines: [] };
}

/** An app that prints, for the lines; its id. */
export async function deployPrinter(bench: Bench, ours: Gangway): Promise<string> {
  const source = printer({ perSecond: linesPerSecond, bytes: 100 });
  const appId = await createUploadApp(ours, 'printer');
  await deployFiles(bench, ours, appId, { Procfile: 'web: node app.js\n', 'app.js': source });
  return appId;
}

/** Adds what is waited for some seconds. */
export async function waited(
  bench: Bench,
  { ours, logAppId }: { ours: Gangway; logAppId: string },
  waits: Waits,
): Promise<void> {
  const seconds = waitSeconds(bench);
  const request = { path: '/api/health' };
  const expected = (await once(ours, request)).toString();
  const calls = [{ request, share: 1, expected }];
  const [health, lines] = await Promise.all([
    openLoop(bench, ours, { calls, connections: 10, perSecond: healthPerSecond, seconds }),
    readTails(bench, ours, {
      paths: [logPath(logAppId)],
      tailsOfEach: tails,
      warmUpSeconds: 0.5,
      seconds,
    }),
  ]);
  waits.health.push(health.latency);
  waits.lines.push(lines.latency);
}

export function waitSeconds(bench: Bench): number {
  return bench.pick(4, 1);
}

export function waitRows(group: string, waits: Waits, idle: Waits): Row[] {
  const oneRow = (what: string, key: keyof Waits, note: string): Row =>
    row({
      group,
      what,
      unit: 'ms',
      better: 'lower',
      rounds: { ours: waits[key].map(({ p99 }) => p99), idle: idle[key].map(({ p99 }) => p99) },
      percentiles: middles({ ours: waits[key], idle: idle[key] }),
      goals: [{ against: 'idle', ratio: goalRatio }],
      note,
    });
  return [
    oneRow('a health check, 99th percentile', 'health', `open loop, ${healthPerSecond} req/s`),
    oneRow('a line of a log, 99th percentile', 'lines', `${tails} tails, lines on a schedule`),
  ];
}
