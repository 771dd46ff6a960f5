import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, it } from 'node:test';
import type { Accounts } from '../../../../src/auth/sign-in/accounts.ts';
import type { Principal } from '../../../../src/auth/callers/principal.ts';
import { Executor } from '../../../../src/graphql/execution/executor.ts';
import { schema } from '../../../../src/graphql/schema/schema.ts';
import { GraphqlFixture } from '../../../support/graphql-fixture.ts';

describe('revokeToken', () => {
  let fixture: GraphqlFixture;
  let executor: Executor;
  let revoked: string[];

  beforeEach(() => {
    fixture = new GraphqlFixture();
    const { limits } = fixture;
    executor = new Executor({
      schema,
      limits,
      onInternal: () => undefined,
      onFault: assert.ifError,
    });
    revoked = [];
  });
  afterEach(() => fixture.close());

  /** `true`, or the code of the refusal. */
  async function revoke(principal: Principal, id: string): Promise<unknown> {
    const accounts = {
      revokeToken: (_by: Principal, tokenId: string) => Promise.resolve(revoked.push(tokenId) > 0),
    } as unknown as Accounts;
    const { json } = await executor.answer(
      'mutation($id: ID!) { revokeToken(id: $id) }',
      undefined,
      { id },
      fixture.context(principal, { accounts }),
    );
    const { data, errors } = JSON.parse(json) as {
      data: { revokeToken: boolean } | null;
      errors?: { extensions: { code: string } }[];
    };
    return data?.revokeToken ?? errors?.[0]?.extensions.code;
  }

  it('lets a person end the own tokens, whatever the person may do in the team', async () => {
    fixture.accounts.addToken('tok_vic', 'usr_vic', 'team_a');
    assert.equal(await revoke(fixture.viewer, 'tok_vic'), true);
    assert.deepEqual(revoked, ['tok_vic']);
  });

  it('needs manage_tokens for those of others', async () => {
    fixture.accounts.addToken('tok_ann', 'usr_ann', 'team_a');
    fixture.accounts.addToken('tok_vic', 'usr_vic', 'team_a');
    assert.equal(await revoke(fixture.viewer, 'tok_ann'), 'FORBIDDEN');
    assert.equal(await revoke(fixture.ann, 'tok_vic'), true);
    assert.deepEqual(revoked, ['tok_vic']);
  });

  it('takes a token for nobody: what its owner may end by hand, it may not', async () => {
    const everything = { allTeams: true };
    const { principal } = fixture.accounts.addToken('tok_a', 'usr_vic', 'team_a', everything);
    fixture.accounts.addToken('tok_b', 'usr_vic', 'team_a');
    assert.equal(await revoke(principal, 'tok_b'), 'FORBIDDEN');
    assert.equal(await revoke(principal, 'tok_a'), 'FORBIDDEN');
    assert.deepEqual(revoked, []);
  });

  it('knows no tokens of other teams', async () => {
    fixture.accounts.addToken('tok_bob', 'usr_bob', 'team_b');
    assert.equal(await revoke(fixture.ann, 'tok_bob'), 'NOT_FOUND');
    assert.equal(await revoke(fixture.ann, 'tok_none'), 'NOT_FOUND');
    assert.deepEqual(revoked, []);
  });
});
