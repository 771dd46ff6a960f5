import { createUploadApp, deployFiles } from '../deploy.ts';
import type { Bench, Gangway, Scenario } from '../harness.ts';
import type { LogTailsResult } from '../load/log-tails.ts';
import { smallPrinter } from '../load/numbered-lines.ts';
import { logPath, readTails } from '../load/tails-of.ts';
import { row } from '../model.ts';
import { usageOf } from '../processes.ts';
import { middles } from '../rounds.ts';

const perSecond = 2;
const deployedAtOnce = 16;

export const scenario: Scenario = {
  title: 'many apps that print lines, each with many tails: not one line lost, none twice',
  async run(bench) {
    const [apps, tailsOfEach] = bench.pick([200, 50], [8, 10]);
    const ours = await bench.startGangway({
      GANGWAY_MAX_LOG_STREAMS_PER_USER: '50000',
      GANGWAY_BUILD_CONCURRENCY: String(deployedAtOnce),
    });
    const appIds = await deployPrinters(bench, ours, apps);
    const rounds: (LogTailsResult & { cpuUs: number })[] = [];
    await bench.eachRound(3, async () => {
      const paths = appIds.map((id) => logPath(id));
      const load = { paths, tailsOfEach, warmUpSeconds: 2, seconds: bench.pick(3, 2) };
      const before = usageOf(ours.pid).cpuUs;
      const result = await readTails(bench, ours, load);
      const cpuUs = (usageOf(ours.pid).cpuUs - before) / result.lines;
      const due = result.tails * result.seconds * perSecond;
      // In a smoke the cores are others', too, and lines may be late.
      if (!bench.quick && Math.abs(result.lines / due - 1) > 0.3) {
        throw new Error(`${result.lines} lines were delivered, not about ${Math.round(due)}`);
      }
      rounds.push({ ...result, cpuUs });
    });
    const group = `${apps} apps x ${tailsOfEach} tails, ${perSecond} lines a second of each`;
    return [
      row({
        group,
        what: 'from when a line is due to its tail, 99th percentile',
        unit: 'ms',
        better: 'lower',
        rounds: { ours: rounds.map(({ latency }) => latency.p99) },
        percentiles: middles({ ours: rounds.map(({ latency }) => latency) }),
        note: 'lines on a schedule',
      }),
      row({
        group,
        what: 'lines delivered',
        unit: 'lines/s',
        better: 'higher',
        rounds: { ours: rounds.map(({ lines, seconds }) => lines / seconds) },
        note: 'all that were due',
      }),
      row({
        group,
        what: 'CPU of the server',
        unit: 'us/line',
        better: 'lower',
        rounds: { ours: rounds.map(({ cpuUs }) => cpuUs) },
        note: 'with opening the tails',
      }),
    ];
  },
};

async function deployPrinters(bench: Bench, ours: Gangway, count: number): Promise<string[]> {
  const files = {
    Procfile: 'web: perl app.pl\n',
    'app.pl': smallPrinter({ perSecond, bytes: 100 }),
  };
  const appIds: string[] = [];
  for (let from = 0; from < count; from += deployedAtOnce) {
    const names = Array.from(
      { length: Math.min(deployedAtOnce, count - from) },
      (_, i) => from + i,
    );
    const deployed = names.map(async (number) => {
      const appId = await createUploadApp(ours, `printer ${number}`);
      await deployFiles(bench, ours, appId, files);
      return appId;
    });
    appIds.push(...(await Promise.all(deployed)));
  }
  return appIds;
}
