import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import type { Principal } from '../../../src/auth/callers/principal.ts';
import { anonymous } from '../../../src/auth/callers/principal.ts';
import { defaultLimits, type GraphqlLimits } from '../../../src/graphql/context.ts';
import { Executor } from '../../../src/graphql/execution/executor.ts';
import { Lanes } from '../../../src/graphql/execution/lanes.ts';
import { Paces } from '../../../src/graphql/execution/pace.ts';
import { schema } from '../../../src/graphql/schema/schema.ts';
import type { PoolAsker } from '../../../src/workers/query-pool.ts';
import { GraphqlFixture } from '../../support/graphql-fixture.ts';
import { recordingLogger } from '../../support/silent-logger.ts';

const fixture = new GraphqlFixture();
after(() => fixture.close());

/** Lanes over a pool that answers nothing of interest, and takes as long as it is told. */
function newLanes(more: Partial<GraphqlLimits> = {}) {
  const asked: PoolAsker[] = [];
  const pool = {
    ready: true,
    tookUs: 10,
    start: () => undefined,
    close: () => Promise.resolve(),
    ask(_call: object, asker: PoolAsker) {
      asked.push(asker);
      return Promise.resolve({
        kind: 'executed' as const,
        body: Buffer.from('{}'),
        tookUs: pool.tookUs,
        giveBack: () => undefined,
      });
    },
  };
  const lanes = new Lanes({
    read: fixture.read,
    write: fixture.context().write!,
    limits: { ...defaultLimits, inlineCost: 100, inlineTurnUs: 100, ...more },
    pool,
    logger: recordingLogger(),
    reuseBytes: 0,
  });
  const answer = async (query: string, principal: Principal = fixture.ann): Promise<void> => {
    await lanes.answer({
      query,
      operationName: undefined,
      variables: {},
      principal,
      http: null,
      via: 'http',
      signal: null,
      request: null,
    });
  };
  return { asked, pool, answer };
}

function costOf(query: string): number {
  const prepared = newExecutor().prepare(query, undefined);
  if (prepared.kind !== 'query') throw new Error('it is refused');
  return prepared.cost({});
}

function newExecutor(): Executor {
  const onInternal = (): void => undefined;
  return new Executor({
    schema,
    limits: defaultLimits,
    onInternal,
    onFault: onInternal,
  });
}

const page = (first: number): string =>
  `{ apps(first: ${first}) { nodes { id slug name status } } }`;

describe('the choice of a lane', () => {
  it('keeps small queries here and tells light from heavy ones by their cost', async () => {
    const { asked, answer } = newLanes({ heavyCost: 500 });
    await answer(page(10));
    assert.equal(asked.length, 0);
    await answer(page(50));
    await answer(page(200));
    assert.deepEqual(
      asked.map(({ heavy }) => heavy),
      [false, true],
    );
  });

  it('takes a query that nobody has judged for a heavy one', async () => {
    const { asked, answer } = newLanes();
    const fields = Array.from({ length: 90 }, (_, i) => `a${i}: id`).join(' ');
    await answer(
      `{ apps { nodes { ${fields} ${'slug '.repeat(20)} ${'name '.repeat(20)} } } me { ${'id '.repeat(20)} ${'name '.repeat(20)} } }`,
    );
    const values = '"a" '.repeat(1_200);
    await answer(`{ apps(search: [${values}]) { totalCount } }`);
    assert.deepEqual(
      asked.map(({ heavy }) => heavy),
      [true, true],
    );
  });

  it('says who asks: a session, a token, or anybody', async () => {
    const { asked, answer } = newLanes();
    const token = { kind: 'token', userId: 'usr_ann', tokenId: 'tok_1', teamId: 'team_a' } as const;
    await answer(page(50));
    await answer(page(50), token);
    await answer(page(50), anonymous);
    const session = fixture.ann.kind === 'person' ? fixture.ann.sessionId : '';
    assert.deepEqual(
      asked.map(({ key }) => key),
      [session, 'tok_1', ''],
    );
  });

  it('comes to take a light query that turns out slow for a heavy one, and back', async () => {
    // Nothing has room here, and what takes this long is not done here anyway.
    const { asked, pool, answer } = newLanes({ inlineTurnUs: 0 });
    pool.tookUs = 50_000;
    for (let run = 0; run < 20; run++) await answer(page(50));
    assert.equal(asked.at(0)?.heavy, false);
    assert.equal(asked.at(-1)?.heavy, true);
    assert.ok((asked.at(-1)?.weight ?? 0) > 10_000);
    pool.tookUs = 60;
    for (let run = 0; run < 100; run++) await answer(page(50));
    assert.equal(asked.length, 120);
    assert.equal(asked.at(-1)?.heavy, false);
    assert.ok((asked.at(-1)?.weight ?? 0) < 100);
  });

  it('answers here what the turn of the loop has room for, and asks workers for what comes beyond', async () => {
    // Just room for one of these, which never ran.
    const { asked, answer } = newLanes({
      inlineTurnUs: new Paces().expectUs({}, costOf(page(50))),
    });
    const renamed = (name: string): string => `query ${name} ${page(50)}`;
    await answer(renamed('First'));
    assert.equal(asked.length, 0);
    await answer(renamed('Second'));
    assert.equal(asked.length, 1);
    await new Promise((resolve) => setImmediate(resolve));
    await answer(renamed('Third'));
    assert.equal(asked.length, 1);
  });

  it('is careful with what was never run, and may be slower than it looks', async () => {
    const { asked, answer } = newLanes({ inlineTurnUs: 400 });
    await answer(page(50));
    assert.equal(asked.length, 1);
  });

  it('refuses here what costs too much', async () => {
    const { asked, answer } = newLanes({ cost: 300 });
    await answer(page(200));
    assert.equal(asked.length, 0);
  });
});
