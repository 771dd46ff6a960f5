import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { execute, type ExecutionResult, parse } from 'graphql';
import { anonymous } from '../../../../src/auth/callers/principal.ts';
import { Executor } from '../../../../src/graphql/execution/executor.ts';
import { formatError } from '../../../../src/graphql/errors.ts';
import { schema } from '../../../../src/graphql/schema/schema.ts';
import { corpus, type CorpusQuery } from '../../../support/graphql-corpus.ts';
import { GraphqlFixture } from '../../../support/graphql-fixture.ts';

const fixture = new GraphqlFixture();
const options = {
  schema,
  limits: fixture.limits,
  onInternal: () => undefined,
  onFault: assert.ifError,
};
const interpreted = new Executor({ ...options, compile: false });
const compiled = new Executor(options);
after(() => fixture.close());

function reference({ query, variables, operationName }: CorpusQuery, principal = fixture.ann) {
  const result = execute({
    schema,
    document: parse(query),
    variableValues: variables ?? {},
    contextValue: fixture.context(principal),
    ...(operationName !== undefined && { operationName }),
  }) as ExecutionResult;
  const errors = result.errors?.map((error) => formatError(error, () => undefined));
  return JSON.stringify(errors ? { ...result, errors } : result);
}

async function answer(
  executor: Executor,
  one: CorpusQuery,
  principal = fixture.ann,
): Promise<string> {
  const variables = one.variables ?? {};
  const context = fixture.context(principal);
  return (await executor.answer(one.query, one.operationName, variables, context)).json;
}

describe('the executor', () => {
  for (const one of corpus) {
    it(`answers ${one.name} as graphql-js does, interpreted and compiled`, async () => {
      for (const principal of [fixture.ann, fixture.viewer, anonymous]) {
        const expected = reference(one, principal);
        assert.equal(await answer(interpreted, one, principal), expected);
        for (let use = 0; use < 3; use++) {
          assert.equal(await answer(compiled, one, principal), expected);
        }
      }
    });
  }
});
