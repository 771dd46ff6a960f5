import { graphqlRows, mercurius, yoga } from '../graphql/contest.ts';
import { medium } from '../graphql/documents.ts';
import { startApps } from '../graphql/instance.ts';
import type { Scenario } from '../harness.ts';

export const scenario: Scenario = {
  title: '100 apps, each with its latest deployment, against other GraphQL servers',
  async run(bench) {
    const count = bench.pick(100, 30);
    return await graphqlRows(bench, await startApps(bench, count, { deployed: true }), {
      what: `${count} apps with their latest deployment`,
      document: medium,
      peers: [mercurius, yoga],
      goals: [{ against: yoga, ratio: 4 }],
      reuse: [],
    });
  },
};
