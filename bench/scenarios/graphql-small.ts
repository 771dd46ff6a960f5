import { apollo, graphqlRows, mercurius, yoga } from '../graphql/contest.ts';
import { small } from '../graphql/documents.ts';
import { startApps } from '../graphql/instance.ts';
import type { Scenario } from '../harness.ts';

export const scenario: Scenario = {
  title: 'me and 20 apps with a token, against bare uWebSockets.js and other GraphQL servers',
  async run(bench) {
    return await graphqlRows(bench, await startApps(bench, 20), {
      what: 'me and 20 apps',
      document: small,
      peers: [mercurius, yoga, apollo],
      bareNode: true,
      goals: [
        { against: 'bare', ratio: 0.55 },
        { against: yoga, ratio: 5 },
        { against: mercurius, ratio: 3 },
      ],
      reuse: [{ against: 'bare', ratio: 0.7 }],
      latencyAt: 500,
    });
  },
};
