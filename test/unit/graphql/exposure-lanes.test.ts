import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { Principal } from '../../../src/auth/callers/principal.ts';
import { defaultLimits } from '../../../src/graphql/context.ts';
import {
  type GraphqlAnswer,
  type GraphqlCall,
  Lanes,
} from '../../../src/graphql/execution/lanes.ts';
import { type ExposingDocument, harmless, hostile } from '../../support/exposing-documents.ts';
import { type GraphqlStore, openGraphqlStore } from '../../support/graphql-store.ts';
import { eventually } from '../../support/eventually.ts';
import { recordingLogger } from '../../support/silent-logger.ts';

const text = ({ body }: Pick<GraphqlAnswer, 'body'>) => Buffer.from(body).toString();

describe('the lanes, over MCP', () => {
  let data: GraphqlStore;
  let inline: Lanes;
  let pooled: Lanes;
  let ann: Principal;

  before(async () => {
    data = await openGraphqlStore();
    ann = data.fixture.ann;
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

  function call(one: ExposingDocument, more: Partial<GraphqlCall> = {}): GraphqlCall {
    const { query, operationName, variables = {} } = one;
    const base = { http: null, via: 'mcp', signal: null, request: null } as const;
    return { ...base, query, operationName, variables, principal: ann, ...more };
  }

  /** What a worker says that is asked past the gateway's thread. */
  async function askWorker(one: ExposingDocument, via: 'http' | 'mcp'): Promise<GraphqlAnswer> {
    const { query, operationName = null, variables = {} } = one;
    const asker = { key: 'ann', caller: null, weight: 1, heavy: false };
    return data.pool.ask({ query, operationName, variables, principal: ann, via }, asker);
  }

  for (const one of hostile) {
    it(`refuse ${one.name}, here and in a worker`, async () => {
      const expected = inline.answer(call(one));
      assert.ok(!(expected instanceof Promise), 'a refusal needs no promise');
      assert.equal(expected.kind, 'refused');
      assert.match(text(expected), /is refused over MCP/);
      const answers = [await pooled.answer(call(one)), await askWorker(one, 'mcp')];
      for (const answer of answers) {
        assert.equal(answer.kind, 'refused');
        assert.equal(text(answer), text(expected));
      }
    });
  }

  for (const one of harmless) {
    it(`answer ${one.name}, here and in a worker`, async () => {
      const expected = text(await inline.answer(call(one, { via: 'http' })));
      for (const answer of [
        await inline.answer(call(one)),
        await pooled.answer(call(one)),
        await askWorker(one, 'mcp'),
      ]) {
        assert.equal(answer.kind, 'executed');
        assert.equal(text(answer), expected);
      }
    });
  }

  it('refuse a long document that is judged elsewhere', async () => {
    const teams = Array.from({ length: 8 }, (_, i) => `t${i}: team { ${'id name '.repeat(10)} }`);
    const deferred = {
      name: '',
      query: `{ apps { nodes { ...A } } env(appId: "app_1") { ...V } }
        fragment V on EnvVar { key v: value }
        fragment A on App { ...B } fragment B on App { ${teams.join(' ')} }`,
    };
    assert.equal(pooled.prepare(deferred.query, undefined).kind, 'deferred');
    for (const answer of [
      await inline.answer(call(deferred)),
      await pooled.answer(call(deferred)),
      await askWorker(deferred, 'mcp'),
    ]) {
      assert.equal(answer.kind, 'refused');
      assert.match(text(answer), /MCP never shows a secret: value is refused over MCP\./);
    }
    for (const answer of [
      await inline.answer(call(deferred, { via: 'http' })),
      await pooled.answer(call(deferred, { via: 'http' })),
      await askWorker(deferred, 'http'),
    ]) {
      assert.equal(answer.kind, 'executed');
    }
  });

  it('run the subscriptions of the service itself, and no refused field in them', async () => {
    const one = { name: '', query: 'subscription { appStatus(id: "app_none") { id } }' };
    const first = await inline.results(call(one)).next();
    assert.match(String(first.value), /NOT_FOUND/);
    const wrong = { name: '', query: 'subscription { appStatus(id: "app_1") { id revealEnv } }' };
    const refused = await inline.results(call(wrong)).next();
    assert.match(String(refused.value), /revealEnv is refused over MCP/);
    assert.match(text(await inline.answer(call(one))), /MCP takes no subscriptions/);
    assert.throws(() => inline.answer(call(one, { via: 'http' })), /text\/event-stream/);
    assert.equal(inline.prepare(one.query, undefined).kind, 'subscription');
  });
});
