import type { Scenario } from '../harness.ts';
import { againstBare } from '../rounds.ts';

const query = `query Small {
  me { id email name }
  apps(first: 20) { nodes { id slug name source status url createdAt } totalCount pageInfo { hasNextPage endCursor } }
}`;

export const scenario: Scenario = {
  title: 'me and 20 apps with a token, against bare uWebSockets.js with the same bytes',
  async run(bench) {
    const ours = await bench.startGangway();
    for (let i = 0; i < 20; i++) {
      await ours.graphql(
        `mutation ($name: String!) { createApp(input: {name: $name, source: UPLOAD}) { id } }`,
        { name: `Bench app ${i}` },
      );
    }
    const { createToken } = await ours.graphql<{ createToken: { secret: string } }>(
      `mutation { createToken(input: {name: "bench", capabilities: [view_logs]}) { secret } }`,
    );
    return await againstBare(
      bench,
      ours,
      {
        path: '/api/graphql',
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          authorization: `Bearer ${createToken.secret}`,
        },
        body: JSON.stringify({ query }),
      },
      { throughput: '>= 0.4', cpu: '' },
    );
  },
};
