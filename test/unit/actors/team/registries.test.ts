import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { openRegistryPassword } from '../../../../src/actors/team/registries.ts';
import { teamActor } from '../../../../src/actors/team/protocol.ts';
import type { NewRegistry } from '../../../../src/actors/team/protocol.ts';
import type { RegistryRecord } from '../../../../src/store/records/records.ts';
import { tables } from '../../../../src/store/records/tables.ts';
import { AccountsFixture } from '../../../support/accounts-fixture.ts';
import { plainSecrets } from '../../../support/plain-secrets.ts';

describe('registries of a team', () => {
  let fixture: AccountsFixture;
  beforeEach(() => {
    fixture = new AccountsFixture();
    fixture.addUser('ada');
    fixture.addTeam('team_one', 'ada');
    fixture.addTeam('team_two', 'ada');
    fixture.runtime.start();
  });
  afterEach(() => fixture.runtime.close());

  const add = (input: Partial<NewRegistry>, teamId = 'team_one'): Promise<RegistryRecord> => {
    const registry = { name: 'Ours', host: 'r.example', username: null, password: null, ...input };
    return fixture.runtime.ask(teamActor.at(teamId), { type: 'registry-add', registry });
  };
  const remove = (registryId: string, teamId = 'team_one'): Promise<boolean> =>
    fixture.runtime.ask(teamActor.at(teamId), { type: 'registry-remove', registryId });

  it('keep their passwords sealed for their own place', async () => {
    const made = await add({ host: ' R.Example:5000 ', username: 'ada', password: 'p:w d' });
    assert.equal(made.host, 'r.example:5000');
    assert.equal(Buffer.from(made.sealed ?? []).toString(), `registry:${made.id}|p:w d`);
    assert.equal(openRegistryPassword(plainSecrets, made), 'p:w d');
    assert.ok(!JSON.stringify({ ...made, sealed: null }).includes('p:w d'));
  });

  it('are one for each host of a team', async () => {
    await add({});
    await assert.rejects(add({ host: 'R.EXAMPLE' }), { code: 'CONFLICT', message: /this host/ });
    await add({}, 'team_two');
    await add({ host: 'r.example:443' });
    await add({ host: 'index.docker.io' });
    await assert.rejects(add({ host: 'docker.io' }), { code: 'CONFLICT' });
  });

  it('are removed by their own team', async () => {
    const { id } = await add({});
    await assert.rejects(remove(id, 'team_two'), { code: 'NOT_FOUND' });
    assert.equal(await remove(id), true);
    assert.equal(fixture.store.get(tables.registries, id), undefined);
    await assert.rejects(remove(id), { code: 'NOT_FOUND' });
  });

  it('end with their team', async () => {
    const { id } = await add({});
    await fixture.runtime.ask(teamActor.at('team_one'), { type: 'team-delete', by: 'ada' });
    assert.equal(fixture.store.get(tables.registries, id), undefined);
  });

  for (const [what, input] of [
    ['a host with a scheme', { host: 'https://r.example' }],
    ['a host with a path', { host: 'r.example/team' }],
    ['a host with a login', { host: 'a:b@r.example' }],
    ['a word without a dot', { host: 'registry' }],
    ['a port out of range', { host: 'r.example:70000' }],
    ['a number that is no address', { host: '1.2.3' }],
    ['an address of a cloud itself', { host: '169.254.169.254:80' }],
    ['an empty host', { host: '  ' }],
    ['an empty name', { name: ' ' }],
    ['a username without a password', { username: 'a' }],
    ['a password without a username', { password: 'a' }],
    ['a colon in the username', { username: 'a:b', password: 'c' }],
    ['a line break in the password', { username: 'a', password: 'b\nc' }],
  ] as const) {
    it(`refuse ${what}`, async () => {
      await assert.rejects(add(input), { code: 'BAD_USER_INPUT' });
    });
  }
});
