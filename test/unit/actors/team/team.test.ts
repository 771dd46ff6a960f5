import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { newTeamChanges, slugOf } from '../../../../src/actors/team/new-team.ts';
import { teamActor } from '../../../../src/actors/team/protocol.ts';
import type { FolderRecord } from '../../../../src/store/records/records.ts';
import { tables } from '../../../../src/store/records/tables.ts';
import { AccountsFixture } from '../../../support/accounts-fixture.ts';

let given: AccountsFixture;

beforeEach(() => {
  given = new AccountsFixture();
  given.addTeam('team_a', 'ada');
  given.addTeam('team_b', 'bob');
});

afterEach(() => given.close());

function createFolder(
  name: string,
  parentId: string | null = null,
  teamId = 'team_a',
): Promise<FolderRecord> {
  return given.runtime.ask(teamActor.at(teamId), { type: 'folder-create', name, parentId });
}

function deleteFolder(folderId: string, teamId = 'team_a'): Promise<boolean> {
  return given.runtime.ask(teamActor.at(teamId), { type: 'folder-delete', folderId });
}

describe('team actor, folders', () => {
  it('makes folders with names of their own in one place', async () => {
    const top = await createFolder(' Shop ');
    assert.match(top.id, /^fld_/);
    assert.equal(top.name, 'Shop');
    await createFolder('Shop', top.id);
    await assert.rejects(createFolder('Shop'), { code: 'CONFLICT' });
    for (const name of ['', '  ', 'x'.repeat(101), 'a\tb']) {
      await assert.rejects(createFolder(name), { code: 'BAD_USER_INPUT' });
    }
  });

  it('knows no parent of another team and no team that does not exist', async () => {
    const foreign = await createFolder('theirs', null, 'team_b');
    await assert.rejects(createFolder('mine', foreign.id), { code: 'NOT_FOUND' });
    await assert.rejects(createFolder('mine', 'fld_none'), { code: 'NOT_FOUND' });
    await assert.rejects(createFolder('mine', null, 'team_none'), { code: 'NOT_FOUND' });
  });

  it('nests 16 deep and no deeper', async () => {
    let parentId: string | null = null;
    for (let depth = 0; depth < 16; depth++) {
      parentId = (await createFolder('down', parentId)).id;
    }
    await assert.rejects(createFolder('down', parentId), { code: 'BAD_USER_INPUT' });
  });

  it('removes an empty folder of its own and no other', async () => {
    const top = await createFolder('top');
    const below = await createFolder('below', top.id);
    given.addApp('app_1', 'team_a', { folderId: below.id });
    await assert.rejects(deleteFolder(top.id), { code: 'CONFLICT' });
    await assert.rejects(deleteFolder(below.id), { code: 'CONFLICT' });
    await assert.rejects(deleteFolder(top.id, 'team_b'), { code: 'NOT_FOUND' });
    given.addApp('app_1', 'team_a', { folderId: null });
    assert.ok(await deleteFolder(below.id));
    assert.ok(await deleteFolder(top.id));
    await assert.rejects(deleteFolder(top.id), { code: 'NOT_FOUND' });
  });
});

describe('team actor, settings', () => {
  it('switches MCP on and off for its own team', async () => {
    const set = (teamId: string, enabled: boolean) =>
      given.runtime.ask(teamActor.at(teamId), { type: 'mcp-set', enabled });
    assert.equal((await set('team_a', false)).mcpEnabled, false);
    assert.equal(given.store.get(tables.teams, 'team_a')?.mcpEnabled, false);
    assert.equal(given.store.get(tables.teams, 'team_b')?.mcpEnabled, true);
    assert.equal((await set('team_a', true)).mcpEnabled, true);
    await assert.rejects(set('team_none', true), { code: 'NOT_FOUND' });
  });
});

describe('newTeamChanges()', () => {
  it('finds a slug that is free', () => {
    const made = newTeamChanges({
      teamId: 'team_c',
      name: 'Team A',
      ownerId: 'ada',
      atMs: 1,
      isSlugTaken: (slug) => given.store.find(tables.teams, 'slug', [slug]) !== undefined,
    });
    given.store.write(made);
    assert.equal(given.store.get(tables.teams, 'team_c')?.slug, 'team-a-2');
  });

  it('makes slugs of letters, digits and single hyphens', () => {
    assert.equal(slugOf('Zürich & Söhne GmbH!'), 'zurich-sohne-gmbh');
    assert.equal(slugOf('--a__b--'), 'a-b');
    assert.equal(slugOf('日本'), 'team');
    assert.match(slugOf('word '.repeat(40)), /^[a-z-]{1,40}$/);
  });
});
