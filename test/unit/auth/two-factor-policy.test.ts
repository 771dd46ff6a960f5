import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { teamActor } from '../../../src/actors/team/protocol.ts';
import { can } from '../../../src/auth/rights/authorize.ts';
import { updateTeam, withoutTwoFactor } from '../../../src/auth/rights/two-factor-policy.ts';
import type { SignedIn } from '../../../src/auth/callers/principal.ts';
import type { TeamRecord } from '../../../src/store/records/records.ts';
import { put } from '../../../src/store/records/table.ts';
import { tables } from '../../../src/store/records/tables.ts';
import { AccountsFixture, person } from '../../support/accounts-fixture.ts';

const dayMs = 24 * 3_600_000;
let given: AccountsFixture;
let bobsToken: SignedIn;

beforeEach(() => {
  given = new AccountsFixture();
  given.addUser('ada', { twoFactorEnabled: true });
  given.addUser('bob');
  given.addTeam('team_a', 'ada');
  given.addMember('team_a', 'bob', 'owner');
  bobsToken = given.addToken('tok_bob', 'bob', 'team_a', { allTeams: true }).principal;
  given.addToken('tok_ada', 'ada', 'team_a', { allTeams: true });
});

afterEach(() => given.close());

interface Change {
  requireTwoFactor?: boolean;
  twoFactorGraceDays?: number;
}

async function update(change: Change, userId = 'ada'): Promise<TeamRecord> {
  const options = { reader: given.store, actors: given.runtime };
  return await updateTeam(options, person(userId), 'team_a', {
    name: null,
    requireTwoFactor: change.requireTwoFactor ?? null,
    twoFactorGraceDays: change.twoFactorGraceDays ?? null,
  });
}

/** Who gets into the team: Bob, who has no two-factor, and his token, always both or neither. */
function bobGetsIn(): boolean {
  const team = { kind: 'team', teamId: 'team_a' } as const;
  assert.ok(can(given.store, person('ada'), 'deploy_apps', team), 'Ada has it');
  const [himself, byToken] = [person('bob'), bobsToken].map((one) =>
    can(given.store, one, 'deploy_apps', team),
  );
  assert.equal(byToken, himself);
  return himself === true;
}

function graceLeftMs(): number | null {
  const untilMs = given.store.get(tables.teams, 'team_a')?.twoFactorGraceUntilMs ?? null;
  return untilMs === null ? null : untilMs - given.clock.now();
}

describe('requiring two-factor', () => {
  it('lets the others, and their tokens, go on for seven days and not a moment longer', async () => {
    await update({ requireTwoFactor: true });
    assert.equal(graceLeftMs(), 7 * dayMs);
    await given.clock.advance(7 * dayMs - 1);
    assert.ok(bobGetsIn());
    await given.clock.advance(1);
    assert.equal(bobGetsIn(), false);
    assert.equal(graceLeftMs(), null);
    assert.equal(given.store.count(tables.alarms, 'actor', ['team:team_a']), 0);
  });

  it('is for who has it, also to give the others another while', async () => {
    const lacking = { code: 'TWO_FACTOR_REQUIRED', message: /for yourself.*\/account\/two-factor/ };
    await assert.rejects(update({ requireTwoFactor: true }, 'bob'), lacking);
    assert.equal(given.store.get(tables.teams, 'team_a')?.requireTwoFactor, false);
    await update({ requireTwoFactor: true });
    await assert.rejects(update({ twoFactorGraceDays: 90 }, 'bob'), lacking);
    assert.equal(graceLeftMs(), 7 * dayMs);
  });

  it('begins at once with no days, and takes 0 to 90', async () => {
    for (const twoFactorGraceDays of [-1, 91]) {
      await assert.rejects(update({ requireTwoFactor: true, twoFactorGraceDays }), {
        code: 'BAD_USER_INPUT',
      });
    }
    await assert.rejects(update({ twoFactorGraceDays: 3 }), { code: 'BAD_USER_INPUT' });
    await update({ requireTwoFactor: true, twoFactorGraceDays: 0 });
    assert.equal(bobGetsIn(), false);
  });

  it('keeps its grace when it is asked for again, and moves it to days that are named', async () => {
    await update({ requireTwoFactor: true, twoFactorGraceDays: 3 });
    await given.clock.advance(dayMs);
    await update({ requireTwoFactor: true });
    assert.equal(graceLeftMs(), 2 * dayMs);
    await update({ twoFactorGraceDays: 10 });
    await given.clock.advance(9 * dayMs);
    assert.ok(bobGetsIn(), 'the alarm of the days before ends nothing');
    await update({ twoFactorGraceDays: 2 });
    await given.clock.advance(2 * dayMs);
    assert.equal(bobGetsIn(), false);
    await update({ requireTwoFactor: true });
    assert.equal(bobGetsIn(), false, 'what is over does not begin again by itself');
    await update({ requireTwoFactor: true, twoFactorGraceDays: 1 });
    assert.ok(bobGetsIn());
  });

  it('begins anew when it is switched off and on, and ends nothing while it is off', async () => {
    await update({ requireTwoFactor: true, twoFactorGraceDays: 1 });
    await update({ requireTwoFactor: false }, 'bob');
    await given.clock.advance(2 * dayMs);
    assert.ok(bobGetsIn());
    await update({ requireTwoFactor: true, twoFactorGraceDays: 1 });
    assert.equal(graceLeftMs(), dayMs);
    await given.clock.advance(dayMs);
    assert.equal(bobGetsIn(), false);
    await update({ requireTwoFactor: false });
    assert.ok(bobGetsIn());
  });

  it('gives who joins or turns two-factor off on the way what is left, and no grace of their own', async () => {
    await update({ requireTwoFactor: true });
    given.addUser('cy');
    given.addMember('team_a', 'cy', 'member');
    const team = { kind: 'team', teamId: 'team_a' } as const;
    assert.ok(can(given.store, person('cy'), 'deploy_apps', team));
    await given.clock.advance(7 * dayMs);
    assert.equal(can(given.store, person('cy'), 'deploy_apps', team), false);
    given.addUser('cy', { twoFactorEnabled: true });
    assert.ok(can(given.store, person('cy'), 'deploy_apps', team));
    given.addUser('cy');
    assert.equal(can(given.store, person('cy'), 'deploy_apps', team), false);
  });

  it('holds at once in a team of an earlier version, which knew no grace', () => {
    const team = given.store.get(tables.teams, 'team_a');
    assert.ok(team);
    assert.equal('twoFactorGraceUntilMs' in team, false);
    given.store.write([put(tables.teams, { ...team, requireTwoFactor: true })]);
    assert.equal(bobGetsIn(), false);
  });

  it('leaves no alarm behind a team that is deleted', async () => {
    await update({ requireTwoFactor: true });
    await given.runtime.ask(teamActor.at('team_a'), { type: 'team-delete', by: 'ada' });
    assert.equal(given.store.count(tables.alarms, 'actor', ['team:team_a']), 0);
  });
});

describe('withoutTwoFactor()', () => {
  it('names the members who lack it with what reaches the team by their rights', () => {
    given.addTeam('team_b', 'bob');
    given.addToken('tok_there', 'bob', 'team_b', { teamIds: ['team_b'] });
    given.addToken('tok_from_there', 'bob', 'team_b', { teamIds: ['team_a'] });
    const found = withoutTwoFactor(given.store, 'team_a');
    assert.deepEqual(
      found.map(({ member, tokens }) => [member.userId, tokens.map(({ id }) => id)]),
      [['bob', ['tok_bob', 'tok_from_there']]],
    );
  });
});
