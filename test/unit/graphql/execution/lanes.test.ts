import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { execute, type ExecutionResult, parse } from 'graphql';
import { anonymous, type Principal } from '../../../../src/auth/callers/principal.ts';
import { defaultLimits } from '../../../../src/graphql/context.ts';
import { formatError } from '../../../../src/graphql/errors.ts';
import { type GraphqlCall, Lanes } from '../../../../src/graphql/execution/lanes.ts';
import { schema } from '../../../../src/graphql/schema/schema.ts';
import { put } from '../../../../src/store/records/table.ts';
import { tables } from '../../../../src/store/records/tables.ts';
import { corpus, type CorpusQuery } from '../../../support/graphql-corpus.ts';
import { appRecord } from '../../../support/graphql-fixture.ts';
import { type GraphqlStore, openGraphqlStore } from '../../../support/graphql-store.ts';
import { eventually } from '../../../support/eventually.ts';
import { recordingLogger } from '../../../support/silent-logger.ts';
const text = (body: Uint8Array | string) => Buffer.from(body as Uint8Array).toString();

describe('the lanes', () => {
  let data: GraphqlStore;
  let inline: Lanes;
  let pooled: Lanes;

  before(async () => {
    data = await openGraphqlStore();
    const write = data.fixture.context().write!;
    const common = { read: data.read, write, logger: recordingLogger() };
    inline = new Lanes({ ...common, limits: defaultLimits, pool: null, reuseBytes: 0 });
    const limits = {
      ...defaultLimits,
      inlineCost: 0,
      inlineTurnUs: 0,
    };
    data.pool.start();
    await eventually('a worker is ready', () => data.pool.ready);
    pooled = new Lanes({ ...common, limits, pool: data.pool, reuseBytes: 1024 * 1024 });
  });
  after(() => data.close());

  function call(
    one: CorpusQuery,
    principal: Principal,
    request: Buffer | null = null,
  ): GraphqlCall {
    const { query, operationName, variables = {} } = one;
    return {
      query,
      operationName,
      variables,
      principal,
      http: null,
      via: 'http',
      signal: null,
      request,
    };
  }

  function reference(
    { query, operationName, variables }: CorpusQuery,
    principal: Principal,
  ): string {
    const result = execute({
      schema,
      document: parse(query),
      variableValues: variables ?? {},
      contextValue: { ...data.fixture.context(principal), read: data.read },
      ...(operationName !== undefined && { operationName }),
    }) as ExecutionResult;
    const errors = result.errors?.map((error) => formatError(error, () => undefined));
    return JSON.stringify(errors ? { ...result, errors } : result);
  }

  for (const one of corpus) {
    it(`answer ${one.name} with the same bytes as graphql-js`, async () => {
      for (const principal of [data.fixture.ann, data.fixture.viewer, anonymous]) {
        const expected = reference(one, principal);
        for (let use = 0; use < 3; use++) {
          assert.equal(text((await inline.answer(call(one, principal))).body), expected);
          assert.equal(text((await pooled.answer(call(one, principal))).body), expected);
        }
      }
    });
  }

  it('answer the same from memory that answers of other lengths were given back from', async () => {
    const { ann } = data.fixture;
    const expected = corpus.map((one) => reference(one, ann));
    for (let round = 0; round < 5; round++) {
      const answers = await Promise.all(
        corpus.map(async (one) => await pooled.answer(call(one, ann))),
      );
      for (const [i, answer] of answers.entries()) {
        assert.equal(text(answer.body), expected[i]);
        answer.giveBack?.();
      }
      // One at a time, so that each has memory for itself.
      for (const [i, one] of corpus.entries()) {
        const answer = await pooled.answer(call(one, ann));
        assert.equal(text(answer.body), expected[i]);
        answer.giveBack?.();
      }
    }
  });

  it('leave the judgement of long documents to the pool', async () => {
    const fields = Array.from({ length: 90 }, (_, i) => `a${i}: id`).join(' ');
    const long = `{ apps { nodes { ${fields} } } more: apps { nodes { id ${'slug '.repeat(20)} name status build { port } ${'autoDeploy '.repeat(20)} ${'source '.repeat(20)} } } }`;
    const one = { name: '', query: long };
    const { ann } = data.fixture;
    assert.equal(pooled.prepare(long, undefined).kind, 'deferred');
    assert.equal(text((await pooled.answer(call(one, ann))).body), reference(one, ann));
    const wrong = { name: '', query: long.replace('name', 'nonsense') };
    const refused = text((await pooled.answer(call(wrong, ann))).body);
    assert.match(refused, /GRAPHQL_VALIDATION_FAILED/);
    const change = { name: '', query: long.replace('{', 'mutation {') };
    assert.match(text((await pooled.answer(call(change, ann))).body), /COST_LIMIT/);
  });

  it('show in the pool what was committed before the question', async () => {
    const query = '{ apps(search: "counted") { totalCount } }';
    for (let i = 1; i <= 20; i++) {
      await data.commit(
        put(tables.apps, appRecord(`app_c${i}`, 'team_a', { name: `Counted ${i}` })),
      );
      const { body } = await pooled.answer(call({ name: '', query }, data.fixture.ann));
      assert.equal(text(body), JSON.stringify({ data: { apps: { totalCount: i } } }));
    }
  });

  it('give an answer again to the same principal only, and until something is written', async () => {
    const one = { name: '', query: '{ viewerTeam { id } apps { totalCount } }' };
    const request = Buffer.from(JSON.stringify(one));
    const { ann, viewer } = data.fixture;
    assert.equal(pooled.recall(ann, request), undefined);
    await pooled.answer(call(one, ann, request));
    assert.equal(pooled.recall(ann, request), undefined);
    const first = text((await pooled.answer(call(one, ann, request))).body);
    assert.equal(text(pooled.recall(ann, request) ?? ''), first);
    assert.equal(pooled.recall(viewer, request), undefined);
    assert.equal(pooled.recall(anonymous, request), undefined);
    assert.equal(pooled.recall(ann, Buffer.concat([request, Buffer.from(' ')])), undefined);
    await data.commit(put(tables.apps, appRecord('app_new', 'team_a')));
    assert.equal(pooled.recall(ann, request), undefined);
    assert.notEqual(text((await pooled.answer(call(one, ann, request))).body), first);
  });

  it('never give an answer again that holds errors, lines of a log, or what was measured', async () => {
    const { ann } = data.fixture;
    for (const query of [
      '{ me { id } app { id } }',
      '{ logs(appId: "app_1") { nodes { text } } }',
      '{ metrics(appId: "app_1") { cpu } }',
      '{ traffic(appId: "app_1") { requests } }',
    ]) {
      for (let times = 0; times < 2; times++) {
        await pooled.answer(call({ name: '', query }, ann, Buffer.from(query)));
      }
      assert.equal(pooled.recall(ann, Buffer.from(query)), undefined);
    }
  });
});
