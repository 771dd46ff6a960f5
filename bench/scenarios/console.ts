/** From a key to its echo in a console, while many are open and typed into. */
import { createUploadApp, deployFiles } from '../deploy.ts';
import type { Bench, Gangway, Scenario, Server } from '../harness.ts';
import type { Consoles, ConsolesResult } from '../load/consoles.ts';
import { row } from '../model.ts';
import type { LatencyMs } from '../model.ts';
import { middles } from '../rounds.ts';

const keysPerSecond = 4;
const serving = `require('node:http').createServer((_, answer) => answer.end('ok')).listen(process.env.PORT)`;

export const scenario: Scenario = {
  title:
    'keys typed into many consoles on a schedule, each to its echo by a program on the terminal',
  async run(bench) {
    const consoles = bench.pick(100, 10);
    const ours = await bench.startGangway({ GANGWAY_MAX_CONSOLES_PER_USER: '1000' });
    const appId = await createUploadApp(ours, 'typed');
    await deployFiles(bench, ours, appId, { Procfile: 'web: node app.js\n', 'app.js': serving });
    const bare = await bench.startServer('bench/bare/consoles.ts');
    const rounds: Record<'ours' | 'bare', LatencyMs[]> = { ours: [], bare: [] };
    await bench.eachRound(3, async () => {
      rounds.ours.push(await type(bench, ours, `/api/apps/${appId}/attach`, consoles));
      if (!bench.oursOnly) rounds.bare.push(await type(bench, bare, '/attach', consoles));
    });
    const of = (read: (latency: LatencyMs) => number) => ({
      ours: rounds.ours.map(read),
      bare: rounds.bare.map(read),
    });
    const percentiles = middles({
      ours: rounds.ours,
      ...(rounds.bare.length > 0 && { bare: rounds.bare }),
    });
    const keys = consoles * keysPerSecond;
    const group = `${String(consoles)} consoles, ${String(keys)} keys a second`;
    const common = { group, better: 'lower', note: 'keys on a schedule' } as const;
    return [
      row({
        ...common,
        what: 'from when a key is due to its echo, median',
        unit: 'ms',
        rounds: of(({ p50 }) => p50),
        percentiles,
        goals: [{ value: 10 }],
      }),
      row({
        ...common,
        what: 'the same, 99th percentile',
        unit: 'ms',
        rounds: of(({ p99 }) => p99),
      }),
    ];
  },
};

async function type(
  bench: Bench,
  server: Server | Gangway,
  path: string,
  consoles: number,
): Promise<LatencyMs> {
  const headers: Record<string, string> = 'cookie' in server ? { Cookie: server.cookie } : {};
  const load: Consoles = {
    port: server.port,
    path,
    headers,
    consoles,
    keysPerSecond,
    warmUpSeconds: bench.pick(2, 0),
    seconds: bench.pick(5, 1),
  };
  const { latency } = await bench.load<ConsolesResult>('bench/load/consoles.ts', load);
  return latency;
}
