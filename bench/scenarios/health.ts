import type { Scenario } from '../harness.ts';
import { againstBare } from '../rounds.ts';

export const scenario: Scenario = {
  title: 'GET /api/health against bare uWebSockets.js with the same bytes; a start; rest',
  async run(bench) {
    const { firstAnswerMs, idleRssBytes } = await bench.measureStart();
    const ours = await bench.startGangway();
    const goals = { throughput: '>= 0.9', cpu: '<= 1.1' };
    const plain = { against: null, ratio: null };
    const rssMiB = idleRssBytes / 2 ** 20;
    return [
      ...(await againstBare(bench, ours, { path: '/api/health' }, goals)),
      {
        what: 'process start to first answer',
        ours: firstAnswerMs,
        unit: 'ms',
        goal: '<= 1000',
        ...plain,
      },
      { what: 'RSS at rest after a start', ours: rssMiB, unit: 'MiB', goal: '<= 140', ...plain },
    ];
  },
};
