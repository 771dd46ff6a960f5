import type { MeasuredStart, Scenario } from '../harness.ts';
import { row } from '../model.ts';
import type { Goal, Row } from '../model.ts';
import { type Seeded, seed } from '../seed.ts';

const query = '{ me { id } apps(first: 20) { nodes { id slug name status } } }';

interface Size {
  apps: number;
  seeded: Seeded;
  starts: MeasuredStart[];
  graphqlMs: number[];
}

export const scenario: Scenario = {
  title:
    'a start on a data directory with few, many and very many apps: to its first answers, and at rest',
  async run(bench) {
    const counts = bench.pick([0, 10, 1_000, 100_000], [0, 10, 100, 1_000]);
    const sizes: Size[] = [];
    for (const apps of counts) {
      sizes.push({ apps, seeded: await seed(bench, { apps }), starts: [], graphqlMs: [] });
    }
    await bench.eachRound(3, async () => {
      for (const { seeded, starts, graphqlMs } of sizes) {
        const env = { GANGWAY_DATA_DIR: seeded.dataDir };
        // What a first question brings into memory is not there at rest: a start for each.
        starts.push(await bench.measureStart(env));
        graphqlMs.push(await bench.measureFirst(env, (url) => ask(url, seeded)));
      }
    });
    return sizes.flatMap((size) => rowsOf(size, sizes[0] ?? size));
  },
};

/** The answer to its first GraphQL question: the oldest apps, each as it was written. */
async function ask(url: string, { apps, cookie }: Seeded): Promise<void> {
  const response = await fetch(`${url}/api/graphql`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', cookie },
    body: JSON.stringify({ query }),
  });
  const said = await response.text();
  const nodes = apps
    .slice(0, 20)
    .map(({ id, slug, name }) => ({ id, slug, name, status: 'error' }));
  const expected = JSON.stringify({ data: { me: { id: 'usr_bench' }, apps: { nodes } } });
  if (said !== expected) throw new Error(`wrong answer: ${said.slice(0, 300)}`);
}

function rowsOf(size: Size, empty: Size): Row[] {
  const oneRow = (
    what: string,
    unit: string,
    read: (size: Size) => number[],
    goals: Goal[] = [],
  ): Row => {
    const others = size === empty ? [] : read(empty);
    return row({
      group: size === empty ? 'nothing stored' : `${size.apps.toLocaleString('en')} apps stored`,
      what,
      unit,
      better: 'lower',
      rounds: { ours: read(size), 'nothing stored': others },
      goals,
    });
  };
  const mib = (bytes: number): number => bytes / 2 ** 20;
  const memory = [{ value: 110 }];
  return [
    oneRow(
      'process start to the first health answer',
      'ms',
      ({ starts }) => starts.map(({ firstAnswerMs }) => firstAnswerMs),
      [{ value: 700 }],
    ),
    oneRow('process start to the first GraphQL answer', 'ms', ({ graphqlMs }) => graphqlMs, [
      { value: 1_000 },
    ]),
    oneRow(
      'RSS at rest',
      'MiB',
      ({ starts }) => starts.map(({ idleRssBytes }) => mib(idleRssBytes)),
      memory,
    ),
    oneRow('of it no pages of files', 'MiB', ({ starts }) =>
      starts.map(({ idleOwnBytes }) => mib(idleOwnBytes)),
    ),
  ];
}
