import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { teamActor } from '../../../../src/actors/team/protocol.ts';
import type { InviteRecord } from '../../../../src/store/records/records.ts';
import { tables } from '../../../../src/store/records/tables.ts';
import { AccountsFixture } from '../../../support/accounts-fixture.ts';

const weekMs = 7 * 24 * 3_600_000;
let given: AccountsFixture;
let viewer: string;

beforeEach(() => {
  given = new AccountsFixture();
  for (const user of ['ada', 'bob', 'cy']) given.addUser(user);
  given.addTeam('team_a', 'ada');
  given.addMember('team_a', 'bob', [
    'manage_members',
    'view_logs',
    'view_metrics',
    'view_activity',
  ]);
  const roles = given.store.list(tables.roles, 'team', ['team_a']);
  viewer = roles.find((role) => role.builtIn === 'viewer')?.id ?? '';
});

afterEach(() => given.close());

function invite(n: number, fields: Partial<InviteRecord> = {}): Promise<InviteRecord> {
  const now = given.clock.now();
  const record: InviteRecord = {
    id: `inv_${String(n)}`,
    teamId: 'team_a',
    email: `new${String(n)}@example.org`,
    roleId: viewer,
    hash: `hash-${String(n)}`,
    invitedBy: 'ada',
    createdAtMs: now,
    expiresAtMs: now + weekMs,
    ...fields,
  };
  return given.runtime.ask(teamActor.at('team_a'), { type: 'invite-create', invite: record });
}

function accept(
  n: number,
  userId = 'cy',
  person: { name: string; passwordHash: string } | null = null,
) {
  const hash = `hash-${String(n)}`;
  return given.runtime.ask(teamActor.at('team_a'), { type: 'invite-accept', hash, userId, person });
}

describe('team actor, invites', () => {
  it('redeems an invite once, however many try at the same time', async () => {
    await invite(1);
    const person = { name: 'New', passwordHash: 'x' };
    const tries = await Promise.allSettled([
      accept(1, 'usr_1', person),
      accept(1, 'usr_2', person),
    ]);
    assert.deepEqual(tries.map(({ status }) => status).sort(), ['fulfilled', 'rejected']);
    const made = given.store.find(tables.auth, 'email', ['new1@example.org']);
    assert.ok(made);
    assert.ok(given.store.get(tables.members, ['team_a', made.id]));
    assert.equal(made.fields['isInstanceAdmin'], false);
    assert.equal(given.store.get(tables.invites, 'inv_1'), undefined);
    assert.equal(given.store.count(tables.alarms, 'actor', ['team:team_a']), 0);
  });

  it('replaces the open invite of an address', async () => {
    await invite(1);
    await invite(2, { email: 'new1@example.org' });
    assert.equal(given.store.count(tables.invites, 'team', ['team_a']), 1);
    await assert.rejects(accept(1), { code: 'NOT_FOUND' });
    assert.equal((await accept(2)).roleId, viewer);
    await assert.rejects(invite(3, { email: 'cy@example.org' }), { code: 'CONFLICT' });
  });

  it('is worth nothing after a week, or once its giver may not give it', async () => {
    await invite(1, { expiresAtMs: given.clock.now() });
    await assert.rejects(accept(1), { code: 'NOT_FOUND' });
    await invite(2, { invitedBy: 'bob' });
    await given.runtime.ask(teamActor.at('team_a'), {
      type: 'member-update',
      userId: 'bob',
      roleId: viewer,
      by: 'ada',
    });
    await assert.rejects(accept(2), { code: 'NOT_FOUND' });
    await invite(3);
    await given.runtime.ask(teamActor.at('team_a'), { type: 'invite-expire', inviteId: 'inv_3' });
    assert.ok(given.store.get(tables.invites, 'inv_3'), 'an alarm too early ends nothing');
  });

  it('keeps the open invites of a team bounded', async () => {
    for (let n = 0; n < 200; n++) await invite(n);
    await assert.rejects(invite(200), { code: 'CONFLICT' });
    await invite(201, { email: 'new7@example.org' });
  });
});

describe('team actor, members', () => {
  it('takes along what acted for who is removed, and leaves what is good elsewhere', async () => {
    given.addTeam('team_b', 'bob');
    given.addToken('here', 'bob', 'team_a', { teamIds: ['team_a'] });
    given.addToken('both', 'bob', 'team_a', { allTeams: true });
    await invite(1, { invitedBy: 'bob' });
    const remove = (userId: string, by: string) =>
      given.runtime.ask(teamActor.at('team_a'), { type: 'member-remove', userId, by });
    await assert.rejects(remove('ada', 'bob'), { code: 'FORBIDDEN' });
    await assert.rejects(remove('ada', 'ada'), { code: 'CONFLICT' });
    assert.ok(await remove('bob', 'ada'));
    assert.equal(given.store.get(tables.tokens, 'here'), undefined);
    assert.ok(given.store.get(tables.tokens, 'both'));
    assert.equal(given.store.get(tables.invites, 'inv_1'), undefined);
    await assert.rejects(remove('bob', 'ada'), { code: 'NOT_FOUND' });
  });

  it('ends a team whole, and only an empty one', async () => {
    given.addFolder('fld_1', 'team_a');
    given.addApp('app_1', 'team_a');
    await invite(1);
    const end = (by: string) =>
      given.runtime.ask(teamActor.at('team_a'), { type: 'team-delete', by });
    await assert.rejects(end('bob'), { code: 'FORBIDDEN' });
    await assert.rejects(end('ada'), { code: 'CONFLICT' });
    given.addApp('app_1', 'team_b');
    assert.ok(await end('ada'));
    const { store } = given;
    const { roles, members, folders, invites, alarms } = tables;
    assert.deepEqual([...store.scan(roles), ...store.scan(members), ...store.scan(folders)], []);
    assert.deepEqual([...store.scan(invites), ...store.scan(alarms)], []);
  });
});
