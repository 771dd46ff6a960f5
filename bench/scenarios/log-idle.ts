import { createUploadApp } from '../deploy.ts';
import type { Bench, Gangway, Scenario } from '../harness.ts';
import type { Tails } from '../load/tails.ts';
import { logPath } from '../load/tails-of.ts';
import { row } from '../model.ts';
import { rssWhile } from '../processes.ts';
import { median } from '../stats.ts';

export const scenario: Scenario = {
  title: 'very many log tails to which nothing comes: what one more of them takes',
  async run(bench) {
    const [few, many] = bench.pick([1_000, 10_000], [100, 1_000]);
    const perTailKiB: number[] = [];
    await bench.eachRound(3, async () => {
      // One of its own: memory that was needed once is not given back.
      const ours = await bench.startGangway({ GANGWAY_MAX_LOG_STREAMS_PER_USER: '50000' });
      const appId = await createUploadApp(ours, 'quiet');
      // What the first tails bring into memory is not the price of a tail.
      await hold(bench, ours, appId, few);
      const atFew = await hold(bench, ours, appId, few);
      const atMany = await hold(bench, ours, appId, many);
      perTailKiB.push((atMany - atFew) / (many - few) / 1024);
      await bench.crash(ours);
    });
    return [
      row({
        group: `from ${few.toLocaleString('en')} to ${many.toLocaleString('en')} tails`,
        what: 'memory of one more',
        unit: 'KiB',
        better: 'lower',
        rounds: { ours: perTailKiB },
        goals: [{ value: 4 }],
        note: 'RSS of the server',
      }),
    ];
  },
};

/** Memory while so many tails are open and nothing happens. */
async function hold(bench: Bench, ours: Gangway, appId: string, tails: number): Promise<number> {
  const seconds = bench.pick(2, 1);
  const load: Tails = {
    port: ours.port,
    pid: ours.pid,
    path: logPath(appId),
    headers: { Cookie: ours.cookie },
    tails,
    stalled: 0,
    silent: true,
    warmUpSeconds: 0,
    seconds,
  };
  const readings = await rssWhile(ours.pid, bench.load('bench/load/tails.ts', load));
  // The streams are open for the last seconds of it.
  return median(readings.slice(-Math.floor(seconds * 8)));
}
