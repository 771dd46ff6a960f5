/**
 * Whatever a document asks for, each way to answer it gives what graphql-js gives, byte for byte: what
 * is compiled here, the lanes of a gateway thread, a query worker, and events of a subscription.
 *
 * `GRAPHQL_DOCUMENTS` says how many are tried; default 300.
 */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import fc from 'fast-check';
import { execute, type ExecutionResult, isObjectType, parse } from 'graphql';
import { anonymous, type Principal } from '../../src/auth/callers/principal.ts';
import { defaultLimits, type GraphContext } from '../../src/graphql/context.ts';
import { compileQuery } from '../../src/graphql/execution/compile-query.ts';
import { formatError } from '../../src/graphql/errors.ts';
import { Executor } from '../../src/graphql/execution/executor.ts';
import { Lanes } from '../../src/graphql/execution/lanes.ts';
import { RecordTexts } from '../../src/graphql/execution/record-texts.ts';
import { prepare, type ReadyDocument } from '../../src/graphql/gate/documents.ts';
import { Exposure } from '../../src/graphql/gate/exposure.ts';
import { schema } from '../../src/graphql/schema/schema.ts';
import { type GraphqlStore, openGraphqlStore } from '../support/graphql-store.ts';
import { randomDocument, type RandomDocument } from '../support/random-documents.ts';
import { recordingLogger } from '../support/silent-logger.ts';

const runs = Number(process.env['GRAPHQL_DOCUMENTS'] ?? 300);

const texts = {
  id: ['app_1', 'app_2', 'app_x', 'dpl_1a', 'dpl_2b'],
  appId: ['app_1', 'app_3'],
  slug: ['app-1', 'app-x'],
  folderId: ['fld_1'],
  search: ['name', '2', ''],
  after: ['nonsense', Buffer.from('app:app_1').toString('base64url')],
};

describe('random documents', () => {
  const judgement = {
    schema,
    exposure: new Exposure(schema),
    limits: defaultLimits,
    defer: false,
  };
  let data: GraphqlStore;
  let principals: Principal[];
  let inline: Lanes;

  before(async () => {
    data = await openGraphqlStore();
    const { fixture, read } = data;
    principals = [fixture.ann, fixture.viewer, fixture.ann, anonymous];
    const write = fixture.context().write!;
    const logger = recordingLogger();
    const onFault = (): never => assert.fail(JSON.stringify(logger.records.at(-1)));
    inline = new Lanes({
      read,
      write,
      logger,
      onFault,
      reuseBytes: 0,
      limits: defaultLimits,
      pool: null,
    });
  });
  after(() => data.close());

  const contextOf = (principal: Principal): GraphContext => {
    return { ...data.fixture.context(principal), read: data.read };
  };

  /** Null for one that is refused before it runs. */
  function readyOf({ query, variables }: RandomDocument): ReadyDocument | null {
    const judged = prepare(judgement, query, undefined);
    if (judged.kind !== 'ready' || judged.cost(variables) > defaultLimits.cost) return null;
    // What waits for others is never compiled, and has no answer at once.
    return judged.asks ? null : judged;
  }

  function reference({ query, variables }: RandomDocument, principal: Principal): string {
    const document = parse(query);
    const asked = { schema, document, variableValues: variables };
    const result = execute({ ...asked, contextValue: contextOf(principal) }) as ExecutionResult;
    const errors = result.errors?.map((error) =>
      formatError(error, (cause) => assert.fail(String(cause))),
    );
    return JSON.stringify(errors ? { ...result, errors } : result);
  }

  async function answerHere(
    { query, variables }: RandomDocument,
    principal: Principal,
  ): Promise<string> {
    const http = { http: null, via: 'http', signal: null, request: null } as const;
    const call = { ...http, query, operationName: undefined, variables, principal };
    const { body } = await inline.answer(call);
    return Buffer.from(body).toString();
  }

  async function answerOfWorker(
    { query, variables }: RandomDocument,
    principal: Principal,
  ): Promise<string> {
    const call = { query, operationName: null, variables, principal, via: 'http' };
    const asker = { key: 'one', caller: null, weight: 1, heavy: false };
    const { body, giveBack } = await data.pool.ask(call, asker);
    const text = Buffer.from(body).toString();
    giveBack();
    return text;
  }

  it('are answered as graphql-js answers them, here and in a worker', async () => {
    const met = { valid: 0, executed: 0, written: 0 };
    await fc.assert(
      fc.asyncProperty(fc.gen(), fc.constantFrom(...principals), async (draw, principal) => {
        const made = randomDocument(draw, schema.getQueryType()!, texts);
        const ready = readyOf(made);
        if (ready === null) return;
        met.valid++;
        const expected = reference(made, principal);
        const about = `${made.query}\n${JSON.stringify(made.variables)}`;
        const compiled = compileQuery(schema, ready, new RecordTexts(), assert.ifError);
        // The first run keeps no texts of records, the second does, and the third uses them.
        for (let run = 0; run < 3; run++) {
          const written = compiled?.(made.variables, contextOf(principal)) ?? null;
          if (written !== null) assert.equal(written, expected, about);
          if (written !== null && run === 0) met.written++;
        }
        if (!expected.startsWith('{"errors"')) met.executed++;
        for (let use = 0; use < 2; use++) {
          assert.equal(await answerHere(made, principal), expected, about);
        }
        assert.equal(await answerOfWorker(made, principal), expected, about);
      }),
      { numRuns: runs, endOnFailure: true },
    );
    assert.ok(met.valid > runs / 3, JSON.stringify(met));
    assert.ok(met.executed > met.valid / 5, JSON.stringify(met));
    // Some refuse for what stands below a null, where graphql-js never comes.
    assert.ok(met.written > met.executed * 0.9, JSON.stringify(met));
  });

  it('are answered alike for each caller, whoever asked before', async () => {
    await fc.assert(
      fc.asyncProperty(fc.gen(), async (draw) => {
        const made = randomDocument(draw, schema.getQueryType()!, texts);
        if (readyOf(made) === null) return;
        for (const principal of [...principals, ...principals.toReversed()]) {
          const answer = await answerHere(made, principal);
          assert.equal(answer, reference(made, principal), made.query);
        }
      }),
      { numRuns: Math.ceil(runs / 4), endOnFailure: true },
    );
  });

  it('are answered by events of a subscription as by graphql-js', async () => {
    const app = schema.getType('App');
    assert(isObjectType(app));
    const options = {
      schema,
      limits: defaultLimits,
      onInternal: assert.ifError,
      onFault: assert.ifError,
    };
    const compiled = new Executor(options);
    const interpreted = new Executor({ ...options, compile: false });
    let events = 0;
    await fc.assert(
      fc.asyncProperty(fc.gen(), fc.constantFrom(...principals), async (draw, principal) => {
        const made = randomDocument(draw, app, texts);
        const query = made.query
          .replace(/^query/, 'subscription')
          .replace('{', '{ appStatus(id: "app_1") {')
          .replace(/\n|$/, ' }\n');
        const one = async (executor: Executor): Promise<string | null> => {
          const prepared = executor.prepare(query, undefined);
          if (prepared.kind !== 'subscription') return null;
          const live = { watch: () => () => undefined, stillValid: () => true } as never;
          const context = contextOf(principal);
          const write = context.write && { ...context.write, live };
          const call = { http: null, signal: AbortSignal.timeout(60_000) };
          const results = prepared.events(made.variables, { ...context, write, call });
          const { value } = await results.next();
          await results.return();
          return value ?? null;
        };
        const answer = await one(compiled);
        assert.equal(answer, await one(interpreted), query);
        if (answer?.startsWith('{"data"')) events++;
      }),
      { numRuns: Math.ceil(runs / 4), endOnFailure: true },
    );
    assert.ok(events > runs / 40, String(events));
  });
});
