import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, it } from 'node:test';
import {
  authorize,
  can,
  capabilitiesIn,
  type Need,
  type Resource,
  seenFolders,
  seenNodes,
} from '../../../../src/auth/rights/authorize.ts';
import { capabilities } from '../../../../src/lib/capabilities.ts';
import { assertMayMove } from '../../../../src/auth/rights/moves.ts';
import type { Principal } from '../../../../src/auth/callers/principal.ts';
import { createToken } from '../../../../src/auth/callers/tokens.ts';
import { remove } from '../../../../src/store/records/table.ts';
import { tables } from '../../../../src/store/records/tables.ts';
import { AccountsFixture, person } from '../../../support/accounts-fixture.ts';

let given: AccountsFixture;

// team_a:  fld_top > fld_mid > fld_low, fld_beside; an app in each, one in none.
beforeEach(() => {
  given = new AccountsFixture();
  for (const id of ['owner', 'member', 'guest', 'stranger']) given.addUser(id);
  given.addTeam('team_a', 'owner');
  given.addTeam('team_b', 'stranger');
  given.addMember('team_a', 'member', ['configure_apps', 'view_logs']);
  given.addMember('team_a', 'guest', []);
  given.addFolder('fld_top', 'team_a');
  given.addFolder('fld_mid', 'team_a', 'fld_top');
  given.addFolder('fld_low', 'team_a', 'fld_mid');
  given.addFolder('fld_beside', 'team_a');
  given.addFolder('fld_b', 'team_b');
  given.addApp('app_none', 'team_a');
  for (const at of ['top', 'mid', 'low', 'beside']) {
    given.addApp(`app_${at}`, 'team_a', { folderId: `fld_${at}` });
  }
});

afterEach(() => given.close());

const guest = person('guest', 'team_a');
const teamA: Resource = { kind: 'team', teamId: 'team_a' };

function app(id: string): Resource & { kind: 'app' } {
  const found = given.store.get(tables.apps, id);
  assert.ok(found);
  return { kind: 'app', app: found };
}

function folder(id: string): Resource & { kind: 'folder' } {
  const found = given.store.get(tables.folders, id);
  assert.ok(found);
  return { kind: 'folder', folder: found };
}

function outcome(principal: Principal, need: Need, resource: Resource): string {
  return codeOf(() => {
    authorize(given.store, principal, need, resource);
  });
}

function codeOf(act: () => void): string {
  try {
    act();
    return 'yes';
  } catch (thrown) {
    return (thrown as { code: string }).code;
  }
}

function seen(principal: Principal): { apps: string[]; folders: string[] } {
  const apps = given.store.list(tables.apps, 'team', ['team_a']);
  const folders = given.store.list(tables.folders, 'team', ['team_a']);
  const found = {
    apps: seenNodes(given.store, principal, 'team_a', apps).map(({ id }) => id),
    folders: seenFolders(given.store, principal, 'team_a', folders).map(({ id }) => id),
  };
  const judged = (resource: Resource): boolean => can(given.store, principal, null, resource);
  assert.deepEqual(
    found.apps,
    apps.filter((one) => judged({ kind: 'app', app: one })).map(({ id }) => id),
  );
  assert.deepEqual(
    found.folders,
    folders.filter((one) => judged({ kind: 'folder', folder: one })).map(({ id }) => id),
  );
  return found;
}

describe('a grant on a folder', () => {
  it('holds in the folder and below it, and nowhere else', () => {
    given.addGrant('fld_mid', 'guest', ['deploy_apps']);
    const answers = ['none', 'top', 'mid', 'low', 'beside'].map((at) =>
      outcome(guest, 'deploy_apps', app(`app_${at}`)),
    );
    assert.deepEqual(answers, ['NOT_FOUND', 'NOT_FOUND', 'yes', 'yes', 'NOT_FOUND']);
    assert.equal(outcome(guest, 'control_apps', app('app_low')), 'FORBIDDEN');
    assert.equal(outcome(guest, 'deploy_apps', folder('fld_low')), 'yes');
    assert.equal(outcome(guest, 'deploy_apps', folder('fld_top')), 'NOT_FOUND');
    assert.equal(outcome(guest, 'deploy_apps', teamA), 'FORBIDDEN');
    assert.equal(outcome(guest, null, teamA), 'yes');
    assert.deepEqual(capabilitiesIn(given.store, guest, 'team_a'), []);
  });

  it('adds to the role and to grants above it', () => {
    given.addGrant('fld_top', 'member', ['deploy_apps']);
    given.addGrant('fld_low', 'member', ['delete_apps', 'view_logs']);
    const member = person('member', 'team_a');
    const held = (folderId: string | null): string[] => {
      const place = folderId === null ? teamA : folder(folderId);
      return capabilities.filter((one) => can(given.store, member, one, place));
    };
    assert.deepEqual(held(null), ['configure_apps', 'view_logs']);
    assert.deepEqual(held('fld_mid'), ['configure_apps', 'deploy_apps', 'view_logs']);
    assert.deepEqual(held('fld_low'), [
      'configure_apps',
      'deploy_apps',
      'delete_apps',
      'view_logs',
    ]);
    assert.deepEqual(held('fld_beside'), ['configure_apps', 'view_logs']);
  });

  it('shows what it covers to whose role gives nothing; a role that gives anything shows all', () => {
    assert.deepEqual(seen(guest), { apps: [], folders: [] });
    given.addGrant('fld_mid', 'guest', ['view_logs']);
    assert.deepEqual(seen(guest), {
      apps: ['app_low', 'app_mid'],
      folders: ['fld_low', 'fld_mid'],
    });
    assert.equal(seen(person('member', 'team_a')).apps.length, 5);
    given.addMember('team_a', 'guest', ['view_metrics']);
    assert.equal(seen(guest).apps.length, 5);
  });

  it('is nothing in another team, and nothing once the member has left', () => {
    given.addGrant('fld_b', 'guest', ['deploy_apps']);
    assert.equal(outcome(guest, null, folder('fld_b')), 'NOT_FOUND');
    given.addGrant('fld_mid', 'guest', ['deploy_apps']);
    given.store.write([remove(tables.members, ['team_a', 'guest'])]);
    assert.equal(outcome(guest, null, app('app_mid')), 'NOT_FOUND');
  });

  it('shows apps in trash as it shows the others', () => {
    given.addGrant('fld_mid', 'guest', ['delete_apps']);
    for (const at of ['mid', 'beside']) {
      given.addApp(`app_${at}`, 'team_a', { folderId: `fld_${at}`, deletedAtMs: 1 });
    }
    const trashed = (id: string): Resource => ({ ...app(id), trashed: true });
    assert.equal(outcome(guest, 'delete_apps', trashed('app_mid')), 'yes');
    assert.equal(outcome(guest, 'delete_apps', trashed('app_beside')), 'NOT_FOUND');
  });
});

describe('a token of somebody with a grant', () => {
  it('is its scope and capabilities ∩ what the grant gives', () => {
    given.addGrant('fld_mid', 'guest', ['deploy_apps', 'view_logs']);
    const all = given.addToken('tok_all', 'guest', 'team_a', { allTeams: true }).principal;
    assert.deepEqual(seen(all), seen(guest));
    assert.equal(outcome(all, 'deploy_apps', app('app_low')), 'yes');
    assert.equal(outcome(all, 'delete_apps', app('app_low')), 'FORBIDDEN');
    const scopes = [
      { appIds: ['app_low', 'app_beside'] },
      { folderIds: ['fld_top'] },
      { folderIds: ['fld_low'] },
      { teamIds: ['team_a'], capabilities: ['view_logs' as const] },
    ];
    const tokens = scopes.map(
      (scope, i) => given.addToken(`tok_${String(i)}`, 'guest', 'team_a', scope).principal,
    );
    assert.deepEqual(
      tokens.map((token) => seen(token).apps.join()),
      ['app_low', 'app_low,app_mid', 'app_low', 'app_low,app_mid'],
    );
    assert.deepEqual(
      tokens.map((token) => seen(token).folders.join()),
      ['', 'fld_low,fld_mid', 'fld_low', 'fld_low,fld_mid'],
    );
    given.store.write([remove(tables.folderGrants, ['fld_mid', 'guest'])]);
    for (const token of [all, ...tokens]) assert.deepEqual(seen(token), { apps: [], folders: [] });
  });

  it('may be given what a grant adds at the place it is for, and nowhere else', async () => {
    given.addMember('team_a', 'guest', ['manage_tokens']);
    given.addGrant('fld_mid', 'guest', ['deploy_apps']);
    const make = (scope: { folderIds?: string[]; appIds?: string[]; teamIds?: string[] }) =>
      createToken({ reader: given.store, actors: given.runtime, clock: given.clock }, guest, {
        name: 'ci',
        capabilities: ['deploy_apps'],
        teamIds: [],
        folderIds: [],
        appIds: [],
        databaseIds: [],
        expiresAtMs: null,
        ...scope,
      });
    await make({ folderIds: ['fld_low'] });
    await make({ folderIds: ['fld_mid'], appIds: ['app_low'] });
    const beyond = [
      {},
      { teamIds: ['team_a'] },
      { folderIds: ['fld_top'] },
      { folderIds: ['fld_mid', 'fld_beside'] },
      { folderIds: ['fld_mid'], appIds: ['app_none'] },
    ];
    for (const scope of beyond) {
      await assert.rejects(make(scope), { code: 'FORBIDDEN' }, JSON.stringify(scope));
    }
  });
});

describe('assertMayMove()', () => {
  const move = (principal: Principal, appId: string, folderId: string | null): string =>
    codeOf(() => {
      const target = folderId === null ? null : folder(folderId).folder;
      assertMayMove(given.store, principal, app(appId).app, target);
    });

  it('asks for configure_apps at the app and where it goes', () => {
    given.addGrant('fld_top', 'guest', ['configure_apps']);
    given.addGrant('fld_beside', 'guest', ['view_logs']);
    assert.equal(move(guest, 'app_mid', 'fld_low'), 'yes');
    assert.equal(move(guest, 'app_low', 'fld_top'), 'yes');
    assert.equal(move(guest, 'app_mid', 'fld_beside'), 'FORBIDDEN');
    assert.equal(move(guest, 'app_beside', 'fld_mid'), 'FORBIDDEN');
    assert.equal(move(guest, 'app_none', 'fld_mid'), 'NOT_FOUND');
    assert.equal(move(guest, 'app_mid', null), 'FORBIDDEN');
    assert.equal(move(person('member', 'team_a'), 'app_mid', null), 'yes');
  });

  it('knows no folder of another team, also of one the caller is in', () => {
    assert.equal(move(person('owner', 'team_a'), 'app_mid', 'fld_b'), 'NOT_FOUND');
    given.addMember('team_b', 'owner', 'member');
    assert.equal(move(person('owner', 'team_a'), 'app_mid', 'fld_b'), 'NOT_FOUND');
  });

  it('gives nobody by a grant what the caller could not give at the app', () => {
    const member = person('member', 'team_a');
    given.addGrant('fld_beside', 'member', ['delete_apps']);
    assert.equal(move(member, 'app_none', 'fld_beside'), 'FORBIDDEN');
    assert.equal(move(member, 'app_beside', 'fld_top'), 'yes');
    given.addGrant('fld_mid', 'guest', ['deploy_apps']);
    assert.equal(move(member, 'app_none', 'fld_low'), 'FORBIDDEN');
    assert.equal(move(person('owner', 'team_a'), 'app_none', 'fld_low'), 'yes');
    // Where the grant holds already, nothing is given.
    assert.equal(move(member, 'app_mid', 'fld_low'), 'yes');
    given.addGrant('fld_mid', 'guest', ['view_logs']);
    assert.equal(move(member, 'app_none', 'fld_low'), 'yes');
  });
});
