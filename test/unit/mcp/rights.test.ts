import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, it } from 'node:test';
import type { SignedIn } from '../../../src/auth/callers/principal.ts';
import { ServiceError } from '../../../src/lib/errors.ts';
import { Rights } from '../../../src/mcp/rights.ts';
import { put, remove } from '../../../src/store/records/table.ts';
import { tables } from '../../../src/store/records/tables.ts';
import { AccountsFixture } from '../../support/accounts-fixture.ts';

let accounts: AccountsFixture;
let rights: Rights;

beforeEach(() => {
  accounts = new AccountsFixture();
  const { store } = accounts;
  rights = new Rights({ reader: store, subscribe: store.subscribe.bind(store) });
  accounts.addUser('usr_ann');
  accounts.addTeam('team_a', 'usr_ann');
  accounts.addTeam('team_b', 'usr_ann');
});

afterEach(async () => {
  rights.close();
  await accounts.close();
});

function refusalOf(principal: SignedIn): string | null {
  try {
    rights.admit(principal);
    return null;
  } catch (error) {
    assert.ok(error instanceof ServiceError);
    return error.code;
  }
}

function changeTeam(teamId: string, fields: object): void {
  const team = accounts.store.get(tables.teams, teamId);
  assert.ok(team);
  accounts.store.write([put(tables.teams, { ...team, ...fields })]);
}

const ofAnn = (fields = {}) => accounts.addToken('tok_1', 'usr_ann', 'team_a', fields).principal;

describe('Rights', () => {
  it('admits to a team that has MCP on, and follows its switch at once', () => {
    const principal = ofAnn({ teamIds: ['team_a'] });
    assert.equal(refusalOf(principal), null);
    changeTeam('team_a', { mcpEnabled: false });
    assert.equal(refusalOf(principal), 'MCP_DISABLED');
    changeTeam('team_a', { mcpEnabled: true });
    assert.equal(refusalOf(principal), null);
  });

  it('asks for manage_mcp of the owner of the token, not of the token', () => {
    assert.equal(refusalOf(ofAnn({ teamIds: ['team_a'], capabilities: [] })), null);
    accounts.addUser('usr_bob');
    accounts.addMember('team_a', 'usr_bob', ['view_logs']);
    const { principal } = accounts.addToken('tok_2', 'usr_bob', 'team_a', { teamIds: ['team_a'] });
    assert.equal(refusalOf(principal), 'FORBIDDEN');
    accounts.addMember('team_a', 'usr_bob', ['view_logs', 'manage_mcp']);
    assert.equal(refusalOf(principal), null);
  });

  it('refuses a team that wants two-factor of who has none, and who acts in no team', () => {
    const principal = ofAnn({ allTeams: true });
    assert.equal(refusalOf({ ...principal, teamId: null }), 'FORBIDDEN');
    changeTeam('team_a', { requireTwoFactor: true });
    assert.equal(refusalOf(principal), 'TWO_FACTOR_REQUIRED');
  });

  it('acts in another team of the token, by id or slug, and in no other', () => {
    const wide = ofAnn({ allTeams: true });
    assert.equal(rights.actingIn(wide, 'team_b')?.teamId, 'team_b');
    const slug = accounts.store.get(tables.teams, 'team_b')?.slug ?? '';
    assert.equal(rights.actingIn(wide, slug)?.teamId, 'team_b');
    const { principal: narrow } = accounts.addToken('tok_2', 'usr_ann', 'team_a', {
      teamIds: ['team_a'],
    });
    assert.equal(rights.actingIn(narrow, 'team_a')?.teamId, 'team_a');
    for (const team of ['team_b', slug, 'team_none', '__proto__']) {
      assert.equal(rights.actingIn(narrow, team), null, team);
    }
    changeTeam('team_b', { mcpEnabled: false });
    assert.throws(
      () => rights.actingIn(wide, 'team_b'),
      (error) => error instanceof ServiceError && error.code === 'MCP_DISABLED',
    );
  });

  it('names the teams it may act in, without those that have MCP off', () => {
    const principal = ofAnn({ allTeams: true });
    const names = () => rights.teamsOf(principal).map(({ id }) => id);
    assert.deepEqual(names().sort(), ['team_a', 'team_b']);
    changeTeam('team_b', { mcpEnabled: false });
    assert.deepEqual(names(), ['team_a']);
  });

  it('holds what the token was given and its owner holds, by role or by a grant', () => {
    accounts.addUser('usr_bob');
    accounts.addMember('team_a', 'usr_bob', ['view_logs', 'manage_mcp']);
    accounts.addFolder('fol_1', 'team_a');
    const { principal } = accounts.addToken('tok_2', 'usr_bob', 'team_a', {
      teamIds: ['team_a'],
      capabilities: ['view_logs', 'deploy_apps', 'delete_apps'],
    });
    assert.deepEqual([...rights.heldBy(principal)], ['view_logs']);
    assert.deepEqual(rights.givenTo(principal), ['view_logs', 'deploy_apps', 'delete_apps']);
    accounts.addGrant('fol_1', 'usr_bob', ['deploy_apps', 'create_apps']);
    assert.deepEqual([...rights.heldBy(principal)].sort(), ['deploy_apps', 'view_logs']);
    accounts.addMember('team_a', 'usr_bob', ['manage_mcp']);
    assert.deepEqual([...rights.heldBy(principal)], ['deploy_apps']);
  });

  it('gives the same set as long as nothing decisive was written', () => {
    const principal = ofAnn({ teamIds: ['team_a'] });
    const held = rights.heldBy(principal);
    assert.equal(rights.heldBy(principal), held);
    accounts.addMember('team_b', 'usr_ann', 'viewer');
    assert.notEqual(rights.heldBy(principal), held);
  });

  it('gives nothing to a token that is gone', () => {
    const principal = ofAnn({ teamIds: ['team_a'] });
    accounts.store.write([remove(tables.tokens, 'tok_1')]);
    assert.deepEqual(rights.givenTo(principal), []);
    assert.deepEqual([...rights.heldBy(principal)], []);
    assert.equal(rights.actingIn(principal, 'team_a'), null);
  });
});
