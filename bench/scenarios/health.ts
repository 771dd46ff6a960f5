import type { Scenario } from '../harness.ts';
import { row } from '../model.ts';
import { againstBare } from '../rounds.ts';

export const scenario: Scenario = {
  title: 'GET /api/health, and a start',
  async run(bench) {
    const firstAnswerMs: number[] = [];
    const idleMiB: number[] = [];
    await bench.eachRound(3, async () => {
      const start = await bench.measureStart();
      firstAnswerMs.push(start.firstAnswerMs);
      idleMiB.push(start.idleRssBytes / 2 ** 20);
    });
    const ours = await bench.startGangway();
    const goals = {
      throughput: [{ against: 'bare', ratio: 0.9 }],
      cpu: [{ against: 'bare', ratio: 1.1 }],
    };
    return [
      ...(await againstBare(bench, ours, { path: '/api/health' }, goals)),
      row({
        what: 'process start to first answer',
        unit: 'ms',
        better: 'lower',
        rounds: { ours: firstAnswerMs },
        goals: [{ value: 700 }],
      }),
      row({
        what: 'RSS at rest after a start',
        unit: 'MiB',
        better: 'lower',
        rounds: { ours: idleMiB },
        goals: [{ value: 110 }],
      }),
    ];
  },
};
