import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { GraphqlAnswer } from '../../../src/graphql/execution/lanes.ts';
import { put } from '../../../src/store/records/table.ts';
import { tables } from '../../../src/store/records/tables.ts';
import { appRecord } from '../../support/graphql-fixture.ts';
import { type GraphqlGateway, startGraphql } from '../../support/graphql-gateway.ts';

const text = (body: Uint8Array | undefined) => body && Buffer.from(body).toString();

/** Runs a test over a system of its own, which nothing was asked of yet. */
function over(run: (system: GraphqlGateway) => Promise<void>): () => Promise<void> {
  return async () => {
    const system = await startGraphql({ reuseBytes: 100_000 });
    try {
      await run(system);
    } finally {
      await system.close();
    }
  };
}

function atOnce(answer: GraphqlAnswer | Promise<GraphqlAnswer>): GraphqlAnswer {
  assert.ok(!(answer instanceof Promise), 'the answer was there at once');
  return answer;
}

describe('GraphQL from within', () => {
  it(
    'comes with a promise before it is loaded, and at once after that',
    over(async ({ graphql, fixture }) => {
      const query = '{ viewerTeam { id } }';
      const first = graphql.execute(query, {}, fixture.ann);
      assert.ok(first instanceof Promise);
      const expected = '{"data":{"viewerTeam":{"id":"team_a"}}}';
      assert.equal(text((await first).body), expected);
      const { kind, body } = atOnce(graphql.execute(query, {}, fixture.ann));
      assert.equal(kind, 'executed');
      assert.equal(text(body), expected);
    }),
  );

  it(
    'takes the name of the operation to run, and its variables',
    over(async ({ graphql, fixture }) => {
      const query = 'query A { me { id } } query B($s: String) { apps(search: $s) { totalCount } }';
      const answer = await graphql.execute(query, { s: 'app_2' }, fixture.ann, {
        operationName: 'B',
      });
      assert.equal(text(answer.body), '{"data":{"apps":{"totalCount":1}}}');
    }),
  );

  it(
    'is MCP: it says so of a document that names what is refused there',
    over(async ({ graphql, fixture }) => {
      const query = 'mutation { revealEnv(appId: "app_1", key: "K") }';
      for (let use = 0; use < 2; use++) {
        const { kind, body } = await graphql.execute(query, {}, fixture.ann);
        assert.equal(kind, 'refused');
        assert.deepEqual(JSON.parse(text(body) ?? ''), {
          errors: [
            {
              message: 'MCP never shows a secret: revealEnv is refused over MCP.',
              locations: [{ line: 1, column: 12 }],
              extensions: { field: 'revealEnv', code: 'FORBIDDEN' },
            },
          ],
        });
      }
    }),
  );

  it(
    'tells the kind of a document, loading what is needed first',
    over(async ({ graphql }) => {
      assert.equal(graphql.loaded, null);
      assert.equal((await graphql.prepare('{ me { id } }')).kind, 'query');
      assert.notEqual(graphql.loaded, null);
      const kindOf = (query: string, name?: string) => {
        const prepared = graphql.prepare(query, name);
        assert.ok(!(prepared instanceof Promise), 'it was known at once');
        return prepared.kind;
      };
      const two = 'query A { me { id } } mutation B { logout }';
      assert.equal(kindOf(two, 'A'), 'query');
      assert.equal(kindOf(two, 'B'), 'mutation');
      assert.equal(kindOf(two), 'refused');
      assert.equal(kindOf('subscription { appStatus(id: "a") { id } }'), 'subscription');
      assert.equal(kindOf('{ nonsense }'), 'refused');
    }),
  );

  it(
    'follows a subscription until its signal aborts',
    over(async ({ graphql, fixture }) => {
      fixture.accounts.addSession('ses_usr_ann', 'usr_ann');
      const controller = new AbortController();
      const query = 'subscription S($id: ID!) { appStatus(id: $id) { id status } }';
      const { signal } = controller;
      const results = graphql.subscribe(query, { id: 'app_1' }, fixture.ann, { signal });
      const first = await results.next();
      assert.equal(first.value, '{"data":{"appStatus":{"id":"app_1","status":"active"}}}');
      const second = results.next();
      fixture.accounts.store.write([
        put(tables.apps, appRecord('app_1', 'team_a', { status: 'stopped' })),
      ]);
      assert.match(String((await second).value), /"status":"stopped"/);
      const third = results.next();
      controller.abort();
      assert.deepEqual(await third, { value: undefined, done: true });
    }),
  );

  it(
    'ends a subscription that names what is refused with that one answer',
    over(async ({ graphql, fixture }) => {
      const query = 'subscription { appStatus(id: "app_1") { secret } }';
      const results = graphql.subscribe(query, {}, fixture.ann);
      assert.match(String((await results.next()).value), /secret is refused over MCP/);
      assert.equal((await results.next()).done, true);
    }),
  );

  it(
    'is refused when it was closed before it was loaded',
    over(async ({ graphql, fixture }) => {
      await graphql.close();
      await assert.rejects(async () => graphql.execute('{ me { id } }', {}, fixture.ann), {
        code: 'SHUTTING_DOWN',
      });
      await assert.rejects(async () => graphql.prepare('{ me { id } }'), { code: 'SHUTTING_DOWN' });
      await assert.rejects(graphql.subscribe('{ me { id } }', {}, fixture.ann).next(), {
        code: 'SHUTTING_DOWN',
      });
    }),
  );
});
