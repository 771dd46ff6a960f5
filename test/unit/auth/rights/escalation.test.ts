import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, it } from 'node:test';
import {
  assertMayChangeMember,
  assertMayGive,
  assertMayGiveRole,
  assertOwner,
} from '../../../../src/auth/rights/escalation.ts';
import { anonymous, type Principal } from '../../../../src/auth/callers/principal.ts';
import type { RoleRecord } from '../../../../src/store/records/records.ts';
import { tables } from '../../../../src/store/records/tables.ts';
import { AccountsFixture, person } from '../../../support/accounts-fixture.ts';

let given: AccountsFixture;

beforeEach(() => {
  given = new AccountsFixture();
  for (const user of ['ada', 'bob', 'cy', 'eve']) given.addUser(user);
  given.addTeam('team_a', 'ada');
  given.addTeam('team_b', 'eve');
  given.addMember('team_a', 'bob', 'viewer');
  given.addMember('team_a', 'cy', ['manage_members', 'view_logs']);
});

afterEach(() => given.close());

function role(builtIn: RoleRecord['builtIn']): Readonly<RoleRecord> {
  const found = given.store
    .list(tables.roles, 'team', ['team_a'])
    .find((one) => one.builtIn === builtIn);
  assert.ok(found);
  return found;
}

describe('assertMayGive()', () => {
  const give =
    (principal: Principal, ...held: RoleRecord['capabilities']) =>
    () => {
      assertMayGive(given.store, principal, 'team_a', held);
    };

  it('lets pass what the giver holds and names what is missing', () => {
    assert.doesNotThrow(give(person('ada'), 'delete_apps', 'manage_team'));
    assert.doesNotThrow(give(person('cy'), 'view_logs'));
    assert.throws(give(person('cy'), 'view_logs', 'delete_apps'), {
      code: 'FORBIDDEN',
      extensions: { capability: 'delete_apps' },
    });
    assert.throws(give(person('eve')), { code: 'NOT_FOUND' });
    assert.throws(give(anonymous), { code: 'UNAUTHENTICATED' });
  });

  it('gives by a token what it carries, where it reaches', () => {
    const app = given.addApp('app_1', 'team_a');
    const whole = given.addToken('t1', 'ada', 'team_a', {
      teamIds: ['team_a'],
      capabilities: ['view_logs'],
    }).principal;
    const narrow = given.addToken('t2', 'ada', 'team_a', { appIds: [app.id] }).principal;
    assert.doesNotThrow(give(whole, 'view_logs'));
    assert.throws(give(whole, 'delete_apps'), { code: 'FORBIDDEN' });
    assert.throws(give(narrow, 'view_logs'), { code: 'FORBIDDEN' });
    assert.doesNotThrow(() => {
      assertMayGive(given.store, narrow, 'team_a', ['view_logs'], { kind: 'app', app });
    });
  });

  it('knows no place of another team', () => {
    const app = given.addApp('app_2', 'team_b');
    assert.throws(
      () => {
        assertMayGive(given.store, person('ada'), 'team_a', [], { kind: 'app', app });
      },
      { code: 'NOT_FOUND' },
    );
  });
});

describe('assertMayGiveRole()', () => {
  it('keeps Owner for owners in person', () => {
    const token = given.addToken('t1', 'ada', 'team_a', { allTeams: true }).principal;
    for (const [principal, code] of [
      [person('ada'), null],
      [token, 'FORBIDDEN'],
      [person('cy'), 'FORBIDDEN'],
    ] as const) {
      const call = () => {
        assertMayGiveRole(given.store, principal, role('owner'));
        assertOwner(given.store, principal, 'team_a');
      };
      if (code === null) assert.doesNotThrow(call);
      else assert.throws(call, { code });
    }
    assert.doesNotThrow(() => {
      assertMayGiveRole(given.store, token, role('member'));
    });
  });
});

describe('assertMayChangeMember()', () => {
  it('refuses who is stronger than the caller', () => {
    const change = (by: string, userId: string) => () => {
      assertMayChangeMember(given.store, person(by), 'team_a', userId);
    };
    assert.doesNotThrow(change('ada', 'cy'));
    assert.doesNotThrow(change('cy', 'cy'));
    assert.throws(change('cy', 'ada'), { code: 'FORBIDDEN' });
    assert.throws(change('cy', 'bob'), { code: 'FORBIDDEN' });
    assert.throws(change('ada', 'eve'), { code: 'NOT_FOUND' });
  });
});
