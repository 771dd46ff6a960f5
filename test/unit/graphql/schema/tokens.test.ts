import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, it } from 'node:test';
import type { Actors } from '../../../../src/actors/runtime/actor.ts';
import type { Principal } from '../../../../src/auth/callers/principal.ts';
import { Executor } from '../../../../src/graphql/execution/executor.ts';
import { schema } from '../../../../src/graphql/schema/schema.ts';
import { remove } from '../../../../src/store/records/table.ts';
import { tables } from '../../../../src/store/records/tables.ts';
import { GraphqlFixture } from '../../../support/graphql-fixture.ts';

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

interface Answer<T> {
  data: T | null;
  errors?: { extensions: { code: string } }[];
}

async function run<T>(query: string, principal: Principal, variables = {}): Promise<Answer<T>> {
  // Notes which tokens are revoked.
  const actors = {
    ask: (_to: object, { tokenId }: { tokenId: string }) => {
      revoked.push(tokenId);
      return Promise.resolve(true);
    },
  } as unknown as Actors;
  const context = fixture.context(principal, { actors });
  const { json } = await executor.answer(query, undefined, variables, context);
  return JSON.parse(json) as Answer<T>;
}

describe('apiTokens', () => {
  it('are those made in the acting team, for who manages them', async () => {
    fixture.accounts.addToken('tok_a', 'usr_vic', 'team_a');
    fixture.accounts.addToken('tok_b', 'usr_bob', 'team_b');
    const query = '{ apiTokens { id } }';
    assert.deepEqual(await run(query, fixture.ann), { data: { apiTokens: [{ id: 'tok_a' }] } });
    const { errors } = await run(query, fixture.viewer);
    assert.equal(errors?.[0]?.extensions.code, 'FORBIDDEN');
  });
});

describe('revokeToken', () => {
  /** `true`, or the code of the refusal. */
  async function revoke(principal: Principal, id: string): Promise<unknown> {
    const { data, errors } = await run<{ revokeToken: boolean }>(
      'mutation($id: ID!) { revokeToken(id: $id) }',
      principal,
      { id },
    );
    return data?.revokeToken ?? errors?.[0]?.extensions.code;
  }

  it('lets a person end the own tokens, whatever the person may do in the team', async () => {
    fixture.accounts.addToken('tok_vic', 'usr_vic', 'team_a');
    assert.equal(await revoke(fixture.viewer, 'tok_vic'), true);
    assert.deepEqual(revoked, ['tok_vic']);
  });

  it('lets a person end an own token also after leaving the team', async () => {
    fixture.accounts.addToken('tok_vic', 'usr_vic', 'team_a');
    fixture.accounts.store.write([remove(tables.members, ['team_a', 'usr_vic'])]);
    assert.equal(await revoke({ ...fixture.viewer, teamId: null } as Principal, 'tok_vic'), true);
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
