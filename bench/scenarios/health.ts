import type { Scenario } from '../harness.ts';
import { againstBare } from '../rounds.ts';

export const scenario: Scenario = {
  title: 'GET /api/health',
  async run(bench) {
    const ours = await bench.startGangway();
    const goals = {
      throughput: [{ against: 'bare', ratio: 0.9 }],
      cpu: [{ against: 'bare', ratio: 1.1 }],
    };
    return await againstBare(bench, ours, { path: '/api/health' }, goals);
  },
};
