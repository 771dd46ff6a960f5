import { graphqlRows, mercurius, yoga } from '../graphql/contest.ts';
import { small } from '../graphql/documents.ts';
import { startApps } from '../graphql/instance.ts';
import type { Scenario } from '../harness.ts';

export const scenario: Scenario = {
  title: 'me and 20 apps, asked in a text that is new each time: parsed, validated, interpreted',
  async run(bench) {
    return await graphqlRows(bench, await startApps(bench, 20), {
      what: 'me and 20 apps',
      document: small,
      peers: [mercurius, yoga],
      freshTexts: true,
      goals: [],
    });
  },
};
