import { graphqlRows, mercurius, yoga } from '../graphql/contest.ts';
import { heavy } from '../graphql/documents.ts';
import { startDeployedApps } from '../graphql/instance.ts';
import type { Scenario } from '../harness.ts';

export const scenario: Scenario = {
  title: 'the largest page of apps with all there is to know of them, just below the cost limit',
  async run(bench) {
    return await graphqlRows(bench, await startDeployedApps(bench, 500), {
      what: '500 apps with everything',
      document: heavy,
      peers: [mercurius, yoga],
      // Each takes tens of milliseconds: more at once would only wait.
      connections: 8,
      goals: [],
    });
  },
};
