import type { Scenario } from '../harness.ts';
import { usageOf } from '../harness.ts';
import { againstBare } from '../rounds.ts';

export const scenario: Scenario = {
  title: 'GET /api/health against bare uWebSockets.js with the same bytes',
  async run(bench) {
    const startedMs = performance.now();
    const ours = await bench.startGangway();
    const rssBytes = usageOf(ours.pid).rssBytes;
    const rows = await againstBare(
      bench,
      ours,
      { path: '/api/health' },
      {
        throughput: '>= 0.9',
        cpu: '<= 1.1',
      },
    );
    return [
      ...rows,
      {
        what: 'start to set up, with better-auth loaded',
        ours: performance.now() - startedMs,
        against: null,
        unit: 'ms',
        ratio: null,
        goal: '',
      },
      {
        what: 'RSS after setup',
        ours: rssBytes / 2 ** 20,
        against: null,
        unit: 'MiB',
        ratio: null,
        goal: '',
      },
    ];
  },
};
