import assert from 'node:assert/strict';
import { it } from 'node:test';
import type { Principal } from '../../../../src/auth/callers/principal.ts';
import { Executor } from '../../../../src/graphql/execution/executor.ts';
import { schema } from '../../../../src/graphql/schema/schema.ts';
import { GraphqlFixture } from '../../../support/graphql-fixture.ts';

it('withoutTwoFactor of a team needs manage_team there', async () => {
  const fixture = new GraphqlFixture();
  const executor = new Executor({
    schema,
    limits: fixture.limits,
    onInternal: assert.ifError,
    onFault: assert.ifError,
  });
  const query = '{ viewerTeam { withoutTwoFactor { member { userId } } } }';
  const codes = async (principal: Principal): Promise<unknown[]> => {
    const { json } = await executor.answer(query, undefined, {}, fixture.context(principal));
    const { errors = [] } = JSON.parse(json) as { errors?: { extensions: { code: string } }[] };
    return errors.map(({ extensions }) => extensions.code);
  };
  assert.deepEqual(await codes(fixture.viewer), ['FORBIDDEN']);
  assert.deepEqual(await codes(fixture.ann), []);
  await fixture.close();
});
