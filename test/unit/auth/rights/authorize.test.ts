import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, it } from 'node:test';
import {
  actingTeam,
  authorize,
  can,
  capabilitiesIn,
  type Need,
  type Resource,
  seenNodes,
  teamIdsOf,
} from '../../../../src/auth/rights/authorize.ts';
import { type Principal, anonymous } from '../../../../src/auth/callers/principal.ts';
import { type Capability, capabilities } from '../../../../src/lib/capabilities.ts';
import { put, remove } from '../../../../src/store/records/table.ts';
import { tables } from '../../../../src/store/records/tables.ts';
import { AccountsFixture, person } from '../../../support/accounts-fixture.ts';

let given: AccountsFixture;

beforeEach(() => {
  given = new AccountsFixture();
  for (const id of ['owner', 'member', 'viewer', 'custom', 'stranger']) given.addUser(id);
  given.addTeam('team_a', 'owner');
  given.addTeam('team_b', 'stranger');
  given.addMember('team_a', 'member', 'member');
  given.addMember('team_a', 'viewer', 'viewer');
  given.addMember('team_a', 'custom', ['deploy_apps']);
  given.addFolder('fld_top', 'team_a');
  given.addFolder('fld_below', 'team_a', 'fld_top');
  given.addApp('app_top', 'team_a');
  given.addApp('app_below', 'team_a', { folderId: 'fld_below' });
  given.addApp('app_b', 'team_b');
});

afterEach(() => given.close());

const teamA: Resource = { kind: 'team', teamId: 'team_a' };

function app(id: string): Resource & { kind: 'app' } {
  const found = given.store.get(tables.apps, id);
  assert.ok(found);
  return { kind: 'app', app: found };
}

function outcome(principal: Principal, need: Need, resource: Resource): string {
  try {
    authorize(given.store, principal, need, resource);
    assert.ok(can(given.store, principal, need, resource));
    return 'yes';
  } catch (thrown) {
    assert.equal(can(given.store, principal, need, resource), false);
    return (thrown as { code: string }).code;
  }
}

describe('authorize() for people', () => {
  it('answers each role as decided', () => {
    const expected: [user: string, need: Need, answer: string][] = [
      ['owner', 'delete_apps', 'yes'],
      ['owner', 'manage_team', 'yes'],
      ['member', 'deploy_apps', 'yes'],
      ['member', 'manage_tokens', 'yes'],
      ['member', 'delete_apps', 'FORBIDDEN'],
      ['member', 'manage_team', 'FORBIDDEN'],
      ['member', 'manage_roles', 'FORBIDDEN'],
      ['member', 'manage_members', 'FORBIDDEN'],
      ['viewer', 'view_logs', 'yes'],
      ['viewer', 'deploy_apps', 'FORBIDDEN'],
      ['viewer', null, 'yes'],
      ['custom', 'deploy_apps', 'yes'],
      ['custom', 'view_logs', 'FORBIDDEN'],
      ['stranger', null, 'NOT_FOUND'],
      ['stranger', 'deploy_apps', 'NOT_FOUND'],
      ['nobody', null, 'NOT_FOUND'],
    ];
    for (const [user, need, answer] of expected) {
      const resources: Resource[] = [teamA, app('app_top'), app('app_below')];
      for (const resource of resources) {
        assert.equal(outcome(person(user), need, resource), answer, `${user} ${String(need)}`);
      }
    }
  });

  it('names the capability that is missing', () => {
    assert.throws(
      () => {
        authorize(given.store, person('viewer'), 'deploy_apps', app('app_top'));
      },
      { code: 'FORBIDDEN', message: /deploy_apps/, extensions: { capability: 'deploy_apps' } },
    );
  });

  it('refuses an anonymous caller as UNAUTHENTICATED whatever is asked', () => {
    for (const resource of [teamA, app('app_b'), { kind: 'instance' } as const]) {
      assert.equal(outcome(anonymous, null, resource), 'UNAUTHENTICATED');
    }
  });

  it('refuses a team that does not exist, also to a member of record', () => {
    given.store.write([remove(tables.teams, 'team_a')]);
    assert.equal(outcome(person('owner'), null, teamA), 'NOT_FOUND');
  });

  it('refuses a member whose role is gone or of another team', () => {
    const foreign = given.store.list(tables.roles, 'team', ['team_b'])[0];
    assert.ok(foreign);
    for (const roleId of ['rol_gone', foreign.id]) {
      given.store.write([
        put(tables.members, { teamId: 'team_a', userId: 'member', roleId, joinedAtMs: 1 }),
      ]);
      assert.equal(outcome(person('member'), 'deploy_apps', teamA), 'FORBIDDEN');
    }
  });

  it('gives to a preview what it gives to its app, and nothing else', () => {
    const previewOf = { appId: 'app_below', branch: 'x', commitSha: '0' };
    given.addApp('app_shown', 'team_a', { previewOf });
    for (const [user, need] of [
      ['custom', 'deploy_apps'],
      ['custom', 'view_logs'],
      ['stranger', null],
    ] as const) {
      const expected = outcome(person(user), need, app('app_below'));
      assert.equal(outcome(person(user), need, app('app_shown')), expected);
    }
    given.addGrant('fld_below', 'custom', ['view_logs']);
    assert.equal(outcome(person('custom'), 'view_logs', app('app_shown')), 'yes');
    const named = given.addToken('tok_app', 'owner', 'team_a', { appIds: ['app_below'] });
    assert.equal(outcome(named.principal, null, app('app_shown')), 'yes');
    const appIds = ['app_top', 'app_shown'];
    const other = given.addToken('tok_other', 'owner', 'team_a', { appIds });
    assert.equal(outcome(other.principal, null, app('app_shown')), 'NOT_FOUND');
    given.addApp('app_below', 'team_a', { deletedAtMs: 1 });
    assert.equal(outcome(person('owner'), null, app('app_shown')), 'NOT_FOUND');
    given.store.write([remove(tables.apps, 'app_below')]);
    assert.equal(outcome(person('owner'), null, app('app_shown')), 'NOT_FOUND');
  });

  it('knows an app in trash only when asked about trash', () => {
    given.addApp('app_top', 'team_a', { deletedAtMs: 1 });
    assert.equal(outcome(person('owner'), null, app('app_top')), 'NOT_FOUND');
    const gone = [app('app_top').app];
    assert.deepEqual(seenNodes(given.store, person('owner'), 'team_a', gone), []);
    const trashed: Resource = { ...app('app_top'), trashed: true };
    assert.equal(outcome(person('owner'), 'delete_apps', trashed), 'yes');
    assert.equal(outcome(person('member'), 'delete_apps', trashed), 'FORBIDDEN');
    assert.equal(outcome(person('stranger'), 'delete_apps', trashed), 'NOT_FOUND');
  });

  it('gives the instance to its administrator alone', () => {
    given.addUser('admin', { isInstanceAdmin: true });
    const instance = { kind: 'instance' } as const;
    assert.equal(outcome(person('admin'), 'admin', instance), 'yes');
    assert.equal(outcome(person('owner'), 'admin', instance), 'FORBIDDEN');
    assert.equal(outcome(person('owner'), null, instance), 'yes');
    assert.equal(outcome(person('admin'), 'deploy_apps', instance), 'FORBIDDEN');
    assert.equal(outcome(person('admin'), null, teamA), 'NOT_FOUND');
  });

  it('asks for two-factor sign-in where the team requires it', () => {
    const team = given.store.get(tables.teams, 'team_a');
    assert.ok(team);
    given.store.write([put(tables.teams, { ...team, requireTwoFactor: true })]);
    given.addUser('careful', { twoFactorEnabled: true });
    given.addMember('team_a', 'careful', 'member');
    const { principal } = given.addToken('tok_1', 'owner', 'team_a', { allTeams: true });
    assert.equal(outcome(person('owner'), null, teamA), 'TWO_FACTOR_REQUIRED');
    assert.equal(outcome(principal, 'deploy_apps', app('app_top')), 'TWO_FACTOR_REQUIRED');
    assert.equal(outcome(person('careful'), 'deploy_apps', app('app_top')), 'yes');
    assert.equal(outcome(person('stranger'), null, teamA), 'NOT_FOUND');
    assert.deepEqual(capabilitiesIn(given.store, person('owner'), 'team_a'), []);
  });
});

describe('authorize() for tokens', () => {
  it('gives capabilities ∩ what the owner holds now', () => {
    const { principal } = given.addToken('tok_1', 'member', 'team_a', {
      allTeams: true,
      capabilities: ['deploy_apps', 'delete_apps'],
    });
    assert.equal(outcome(principal, 'deploy_apps', app('app_top')), 'yes');
    assert.equal(outcome(principal, 'delete_apps', app('app_top')), 'FORBIDDEN');
    assert.equal(outcome(principal, 'view_logs', app('app_top')), 'FORBIDDEN');
    assert.deepEqual(capabilitiesIn(given.store, principal, 'team_a'), ['deploy_apps']);
    given.addMember('team_a', 'member', 'viewer');
    assert.equal(outcome(principal, 'deploy_apps', app('app_top')), 'FORBIDDEN');
    given.store.write([remove(tables.members, ['team_a', 'member'])]);
    assert.equal(outcome(principal, null, app('app_top')), 'NOT_FOUND');
    assert.deepEqual(capabilitiesIn(given.store, principal, 'team_a'), []);
  });

  it('reads what needs no capability when it has none', () => {
    const { principal } = given.addToken('tok_1', 'owner', 'team_a', {
      allTeams: true,
      capabilities: [],
    });
    assert.equal(outcome(principal, null, app('app_top')), 'yes');
    assert.equal(outcome(principal, 'view_logs', app('app_top')), 'FORBIDDEN');
  });

  it('reaches a folder with everything below, an app alone, and nothing else', () => {
    given.addFolder('fld_beside', 'team_a');
    given.addApp('app_beside', 'team_a', { folderId: 'fld_beside' });
    const byFolder = given.addToken('tok_f', 'owner', 'team_a', { folderIds: ['fld_top'] });
    const byApp = given.addToken('tok_a', 'owner', 'team_a', { appIds: ['app_beside'] });
    const answers = (principal: Principal): string[] =>
      ['app_top', 'app_below', 'app_beside', 'app_b'].map((id) =>
        outcome(principal, 'deploy_apps', app(id)),
      );
    assert.deepEqual(answers(byFolder.principal), ['NOT_FOUND', 'yes', 'NOT_FOUND', 'NOT_FOUND']);
    assert.deepEqual(answers(byApp.principal), ['NOT_FOUND', 'NOT_FOUND', 'yes', 'NOT_FOUND']);
    // It sees the team it works in, and holds nothing over the whole of it.
    assert.equal(outcome(byApp.principal, null, teamA), 'yes');
    assert.equal(outcome(byApp.principal, 'create_apps', teamA), 'FORBIDDEN');
  });

  it('reaches nothing when the last node of its scope is deleted', () => {
    const { principal } = given.addToken('tok_a', 'owner', 'team_a', { appIds: ['app_top'] });
    given.addApp('app_top', 'team_a', { deletedAtMs: 1 });
    assert.equal(outcome(principal, null, app('app_top')), 'NOT_FOUND');
    assert.equal(outcome(principal, null, { ...app('app_top'), trashed: true }), 'NOT_FOUND');
    assert.equal(outcome(principal, null, teamA), 'NOT_FOUND');
    assert.deepEqual(teamIdsOf(given.store, principal), []);
  });

  it('never administers the instance', () => {
    given.addUser('admin', { isInstanceAdmin: true });
    given.addTeam('team_admin', 'admin');
    const { principal } = given.addToken('tok_1', 'admin', 'team_admin', { allTeams: true });
    assert.equal(outcome(principal, 'admin', { kind: 'instance' }), 'FORBIDDEN');
  });

  it('is nothing once revoked, or when its owner is not who the principal says', () => {
    const { principal } = given.addToken('tok_1', 'member', 'team_a', { allTeams: true });
    assert.equal(outcome({ ...principal, userId: 'owner' }, null, teamA), 'NOT_FOUND');
    given.store.write([remove(tables.tokens, 'tok_1')]);
    assert.equal(outcome(principal, null, teamA), 'NOT_FOUND');
  });
});

describe('authorize() for who is confined', () => {
  it('knows nothing outside the acting team, whoever may do what there', () => {
    given.addMember('team_b', 'owner', 'owner');
    const { principal } = given.addToken('tok_all', 'owner', 'team_a', {
      allTeams: true,
      capabilities: [...capabilities],
    });
    const confined = { ...principal, confined: true as const };
    for (const teamId of ['team_a', 'team_b']) {
      const inside = teamId === 'team_a' ? 'app_top' : 'app_b';
      const outside = teamId === 'team_a' ? 'app_b' : 'app_top';
      const acting = { ...confined, teamId };
      assert.equal(outcome({ ...principal, teamId }, 'delete_apps', app(outside)), 'yes');
      assert.equal(outcome(acting, 'delete_apps', app(inside)), 'yes');
      for (const need of [null, 'delete_apps'] as const) {
        assert.equal(outcome(acting, need, app(outside)), 'NOT_FOUND');
      }
    }
    assert.equal(outcome({ ...confined, teamId: 'team_b' }, null, teamA), 'NOT_FOUND');
    assert.equal(outcome({ ...confined, teamId: null }, null, teamA), 'NOT_FOUND');
  });
});

describe('capabilitiesIn(), teamIdsOf() and actingTeam()', () => {
  it('list what a person holds, in the order of the contract', () => {
    assert.deepEqual(capabilitiesIn(given.store, person('owner'), 'team_a'), [...capabilities]);
    const views: Capability[] = ['view_logs', 'view_metrics', 'view_activity'];
    assert.deepEqual(capabilitiesIn(given.store, person('viewer'), 'team_a'), views);
    assert.deepEqual(capabilitiesIn(given.store, anonymous, 'team_a'), []);
  });

  it('list the teams in the order of joining, the home of a token first', () => {
    given.addMember('team_b', 'owner', 'viewer');
    assert.deepEqual(teamIdsOf(given.store, person('owner')), ['team_a', 'team_b']);
    const all = given.addToken('tok_1', 'owner', 'team_b', { allTeams: true });
    assert.deepEqual(teamIdsOf(given.store, all.principal), ['team_b', 'team_a']);
    const one = given.addToken('tok_2', 'owner', 'team_b', { teamIds: ['team_a'] });
    assert.deepEqual(teamIdsOf(given.store, one.principal), ['team_a']);
  });

  it('refuse to act without a team', () => {
    assert.equal(actingTeam(person('owner', 'team_a')), 'team_a');
    assert.throws(() => actingTeam(person('owner')), { code: 'FORBIDDEN' });
    assert.throws(() => actingTeam(anonymous), { code: 'UNAUTHENTICATED' });
  });
});

describe('seenNodes()', () => {
  it('takes the apps of the team that `can` says are seen, for everybody', () => {
    given.addApp('app_gone', 'team_a', { deletedAtMs: 1 });
    const ids = ['app_top', 'app_below', 'app_b', 'app_gone'];
    const apps = ids.map((id) => app(id).app);
    const scopes = [
      {},
      { appIds: ['app_top'] },
      { folderIds: ['fld_top'] },
      { appIds: ['app_gone'] },
      { teamIds: ['team_b'] },
    ];
    const principals: Principal[] = [
      anonymous,
      ...['owner', 'viewer', 'custom', 'stranger', 'nobody'].map((id) => person(id)),
      ...scopes.map((scope, i) => given.addToken(`tok_${i}`, 'owner', 'team_a', scope).principal),
      { kind: 'token', userId: 'owner', tokenId: 'tok_none', teamId: 'team_a' },
    ];
    for (const principal of principals) {
      const expected = apps.filter(
        (one) =>
          one.teamId === 'team_a' && can(given.store, principal, null, { kind: 'app', app: one }),
      );
      assert.deepEqual(seenNodes(given.store, principal, 'team_a', apps), expected);
    }
  });
});
