import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { teamActor } from '../../../../src/actors/team/protocol.ts';
import type { Capability } from '../../../../src/lib/capabilities.ts';
import type { FolderGrantRecord } from '../../../../src/store/records/records.ts';
import { tables } from '../../../../src/store/records/tables.ts';
import { AccountsFixture } from '../../../support/accounts-fixture.ts';

let given: AccountsFixture;

beforeEach(() => {
  given = new AccountsFixture();
  given.addTeam('team_a', 'ada');
  given.addTeam('team_b', 'bob');
  given.addMember('team_a', 'eve', 'viewer');
  given.addFolder('fld_1', 'team_a');
  given.addFolder('fld_2', 'team_a');
  given.addFolder('fld_b', 'team_b');
});

afterEach(() => given.close());

function set(
  folderId: string,
  userId: string,
  capabilities: Capability[],
): Promise<FolderGrantRecord[]> {
  const message = { type: 'folder-grant-set', folderId, userId, capabilities } as const;
  return given.runtime.ask(teamActor.at('team_a'), message);
}

describe('team actor, grants', () => {
  it('sets, replaces and ends what a member holds in a folder', async () => {
    const first = await set('fld_1', 'eve', ['view_logs', 'deploy_apps', 'view_logs']);
    const grant = { teamId: 'team_a', folderId: 'fld_1', userId: 'eve' };
    assert.deepEqual(first, [{ ...grant, capabilities: ['deploy_apps', 'view_logs'] }]);
    assert.equal((await set('fld_1', 'ada', ['view_logs'])).length, 2);
    const replaced = await set('fld_1', 'eve', ['manage_env']);
    assert.deepEqual(replaced[1], { ...grant, capabilities: ['manage_env'] });
    assert.deepEqual(
      (await set('fld_1', 'eve', [])).map(({ userId }) => userId),
      ['ada'],
    );
    assert.equal((await set('fld_1', 'eve', [])).length, 1);
  });

  it('knows no folder and no member of another team', async () => {
    for (const [folderId, userId] of [
      ['fld_b', 'eve'],
      ['fld_none', 'eve'],
      ['fld_1', 'bob'],
      ['fld_1', 'nobody'],
    ] as const) {
      await assert.rejects(set(folderId, userId, ['view_logs']), { code: 'NOT_FOUND' });
      await assert.rejects(set(folderId, userId, []), { code: 'NOT_FOUND' });
    }
  });

  it('ends grants with their folder and with their member', async () => {
    await set('fld_1', 'eve', ['view_logs']);
    await set('fld_2', 'eve', ['view_logs']);
    await set('fld_2', 'ada', ['view_logs']);
    await given.runtime.ask(teamActor.at('team_a'), { type: 'folder-delete', folderId: 'fld_1' });
    const left = () => [...given.store.scan(tables.folderGrants)];
    assert.deepEqual(
      left().map(({ folderId }) => folderId),
      ['fld_2', 'fld_2'],
    );
    await given.runtime.ask(teamActor.at('team_a'), {
      type: 'member-remove',
      userId: 'eve',
      by: 'ada',
    });
    assert.deepEqual(
      left().map(({ userId }) => userId),
      ['ada'],
    );
  });
});
