/** Requests through the edge, against nginx, HAProxy and Caddy with one thread each, in front of the same app. */
import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Bench, Scenario, Server } from '../harness.ts';
import type { Goal, Row } from '../model.ts';
import { type Contender, type HttpGoals, httpRows, inTurn, sameBytes } from '../rounds.ts';

const goalsOf: Readonly<Record<string, HttpGoals>> = {
  '5 bytes': {
    cpu: [
      { against: 'nginx', ratio: 1.67 },
      { against: 'caddy', ratio: 1 },
    ],
  },
  '100 kB': { throughput: [{ against: 'nginx', ratio: 0.8 }] },
};
const sizes: Readonly<Record<string, number>> = { '5 bytes': 5, '100 kB': 100_000 };

export const scenario: Scenario = {
  title: 'the edge in front of an app, against other proxies with one thread',
  async run(bench) {
    // It is nothing of a whole Gangway, which is what is held against itself.
    if (bench.oursOnly) return [];
    const rows: Row[] = [];
    for (const [group, bytes] of Object.entries(sizes))
      rows.push(...(await sized(bench, group, bytes)));
    return rows;
  },
};

async function sized(bench: Bench, group: string, bytes: number): Promise<Row[]> {
  const answer = Buffer.alloc(bytes, 'a');
  const file = join(bench.tempDir(), 'answer');
  writeFileSync(file, answer);
  const app = await bench.startServer('bench/bare/reply.ts', [file, 'text/plain']);
  const before = async (script: string, ...name: string[]): Promise<Contender> => {
    const args = [...name, String(app.port), bench.tempDir()];
    const server = await bench.startServer(`bench/bare/${script}.ts`, args);
    return { server: served(server), request: { path: '/' }, check: sameBytes(answer) };
  };
  const contenders: Record<string, Contender> & { ours: Contender } = {
    ours: await before('edge'),
  };
  for (const name of ['nginx', 'haproxy', 'caddy'])
    if (isInstalled(name)) contenders[name] = await before('peer-proxy', name);
  const results = await inTurn(bench, contenders);
  const among = (goals: readonly Goal[] = []): Goal[] =>
    goals.filter((goal) => 'against' in goal && goal.against in contenders);
  const { cpu, throughput } = goalsOf[group] ?? {};
  const goals = { cpu: among(cpu), throughput: among(throughput) };
  return httpRows(group, results, goals);
}

function isInstalled(program: string): boolean {
  return spawnSync(program, ['-v']).error === undefined;
}

/** By the process that serves: the first child of the one that started it. */
function served(server: Server): Server {
  const pid = String(server.pid);
  const [child] = readFileSync(`/proc/${pid}/task/${pid}/children`, 'latin1').split(' ');
  return { ...server, pid: Number(child) };
}
