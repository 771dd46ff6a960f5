import { graphqlRows, mercurius, yoga } from '../graphql/contest.ts';
import { medium } from '../graphql/documents.ts';
import { startDeployedApps } from '../graphql/instance.ts';
import type { Scenario } from '../harness.ts';

export const scenario: Scenario = {
  title: '100 apps, each with its latest deployment, against other GraphQL servers',
  async run(bench) {
    return await graphqlRows(bench, await startDeployedApps(bench, 100), {
      what: '100 apps with their latest deployment',
      document: medium,
      peers: [mercurius, yoga],
      goals: [{ against: yoga, ratio: 4 }],
      reuse: [],
    });
  },
};
