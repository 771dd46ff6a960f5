import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, it } from 'node:test';
import type { Credentials } from '../../../../src/auth/callers/authenticator.ts';
import {
  type ClosableAuthenticator,
  createAuthenticator,
} from '../../../../src/auth/callers/authenticator.ts';
import {
  sealSessionCookie,
  sessionCookieName,
} from '../../../../src/auth/callers/session-cookie.ts';
import { newTokenSecret } from '../../../../src/auth/callers/token-codec.ts';
import type { TokenRecord } from '../../../../src/store/records/records.ts';
import { put, remove } from '../../../../src/store/records/table.ts';
import { tables } from '../../../../src/store/records/tables.ts';
import { AccountsFixture, person } from '../../../support/accounts-fixture.ts';
import { settle } from '../../../support/manual-clock.ts';

const secret = 'a secret of this instance, 32 characters or more';
const hourMs = 3_600_000;

let given: AccountsFixture;
let auth: ClosableAuthenticator;

beforeEach(() => {
  given = new AccountsFixture();
  auth = createAuthenticator({
    reader: given.store,
    subscribe: (listener) => given.store.subscribe(listener),
    actors: given.runtime,
    clock: given.clock,
    log: given.log,
    secret,
  });
  given.addUser('ada');
  given.addUser('bob');
  given.addTeam('team_a', 'ada');
  given.addTeam('team_b', 'bob');
});

afterEach(async () => {
  auth.close();
  await given.close();
});

function asking(fields: Partial<Credentials>): Credentials {
  return { cookieHeader: '', authorization: '', team: '', ...fields };
}

function cookie(token: string, key = secret): string {
  return `${sessionCookieName}=${sealSessionCookie(token, key)}`;
}

function tokenOf(id: string): Readonly<TokenRecord> {
  const token = given.store.get(tables.tokens, id);
  assert.ok(token);
  return token;
}

const ada = { ...person('ada', 'team_a'), sessionId: 'ses_1' };

describe('byCookie()', () => {
  it('finds the person among other cookies, again and again', () => {
    const token = given.addSession('ses_1', 'ada');
    const cookieHeader = `theme=dark; ${cookie(token)}; other=1`;
    for (let i = 0; i < 3; i++) assert.deepEqual(auth.byCookie(asking({ cookieHeader })), ada);
  });

  it('knows nobody without a cookie, or with a forged, foreign, cut or stale one', () => {
    const token = given.addSession('ses_1', 'ada');
    const good = cookie(token);
    const signature = decodeURIComponent(good).split('.').at(-1);
    const bad = [
      '',
      'theme=dark',
      `${sessionCookieName}=`,
      `${sessionCookieName}=${token}`,
      `${sessionCookieName}=${token}.`,
      `${sessionCookieName}=.${String(signature)}`,
      `${sessionCookieName}=%E0%A4%A`,
      `${sessionCookieName}=${'x'.repeat(5_000)}`,
      good.slice(0, -1),
      good.replace('token-of', 'token-oF'),
      cookie(token, `${secret}!`),
      cookie('token-of-ses_2'),
      `__Secure-${good}`,
      good.replace('session_token', 'Session_Token'),
    ];
    for (const cookieHeader of bad) {
      assert.deepEqual(auth.byCookie(asking({ cookieHeader })), { kind: 'anonymous' });
    }
    assert.deepEqual(auth.byCookie(asking({ cookieHeader: good })), ada);
  });

  it('refuses two cookies of the name, however they came', () => {
    const good = cookie(given.addSession('ses_1', 'ada'));
    for (const cookieHeader of [`${good}; ${good}`, `${good}, ${good}`, `${good};a=b;${good}`]) {
      assert.throws(() => auth.byCookie(asking({ cookieHeader })), { code: 'BAD_REQUEST' });
    }
  });

  it('knows nobody once the session has expired, remembered or not', async () => {
    const token = given.addSession('ses_1', 'ada', { expiresAt: given.clock.now() + 1_000 });
    const asked = asking({ cookieHeader: cookie(token) });
    assert.equal(auth.byCookie(asked).kind, 'person');
    await given.clock.advance(1_000);
    assert.equal(auth.byCookie(asked).kind, 'anonymous');
    assert.equal(auth.byCookie({ ...asked, team: 'team_b' }).kind, 'anonymous');
  });

  it('knows nobody as soon as the session or the person is gone', () => {
    const asked = asking({ cookieHeader: cookie(given.addSession('ses_1', 'ada')) });
    assert.equal(auth.byCookie(asked).kind, 'person');
    given.store.write([remove(tables.auth, ['session', 'ses_1'])]);
    assert.equal(auth.byCookie(asked).kind, 'anonymous');
    given.addSession('ses_1', 'ada');
    assert.equal(auth.byCookie(asked).kind, 'person');
    given.store.write([remove(tables.auth, ['user', 'ada'])]);
    assert.equal(auth.byCookie(asked).kind, 'anonymous');
  });

  it('acts in the named team, by id or slug, and refuses one the person is not in', () => {
    given.addMember('team_b', 'ada', 'viewer');
    const cookieHeader = cookie(given.addSession('ses_1', 'ada'));
    const teamOf = (team: string): unknown => {
      const principal = auth.byCookie(asking({ cookieHeader, team }));
      return principal.kind === 'person' ? principal.teamId : null;
    };
    assert.equal(teamOf(''), 'team_a');
    assert.equal(teamOf('team_b'), 'team_b');
    assert.equal(teamOf('team-b'), 'team_b');
    given.addTeam('team_c', 'bob');
    for (const team of ['team_c', 'team-c', 'nowhere', '*']) {
      assert.throws(() => teamOf(team), { code: 'FORBIDDEN' });
    }
  });

  it('acts in the session’s current team, and in none when that one is lost', () => {
    given.addMember('team_b', 'ada', 'viewer');
    const token = given.addSession('ses_1', 'ada', { currentTeamId: 'team_b' });
    const asked = asking({ cookieHeader: cookie(token) });
    assert.deepEqual(auth.byCookie(asked), { ...ada, teamId: 'team_b' });
    given.store.write([remove(tables.members, ['team_b', 'ada'])]);
    assert.deepEqual(auth.byCookie(asked), { ...ada, teamId: null });
  });
});

describe('renew()', () => {
  it('sends the cookie anew once a day and lets the session live on', async () => {
    const asked = asking({ cookieHeader: cookie(given.addSession('ses_1', 'ada')) });
    assert.equal(auth.renew(asked, false), null);
    await given.clock.advance(25 * hourMs);
    const renewed = auth.renew(asked, true);
    assert.match(renewed ?? '', /; Max-Age=604800; Path=\/; HttpOnly; Secure; SameSite=Lax$/);
    assert.ok(renewed?.startsWith(asked.cookieHeader));
    assert.equal(auth.renew(asked, true), null);
    await settle();
    const session = given.store.get(tables.auth, ['session', 'ses_1']);
    assert.equal(session?.fields['expiresAt'], given.clock.now() + 7 * 24 * hourMs);
    await given.clock.advance(6 * 24 * hourMs);
    assert.equal(auth.byCookie(asked).kind, 'person');
  });

  it('does not wake a session that ended', async () => {
    const asked = asking({ cookieHeader: cookie(given.addSession('ses_1', 'ada')) });
    await given.clock.advance(25 * hourMs);
    assert.notEqual(auth.renew(asked, false), null);
    given.store.write([remove(tables.auth, ['session', 'ses_1'])]);
    await settle();
    assert.equal(given.store.get(tables.auth, ['session', 'ses_1']), undefined);
    assert.equal(auth.renew(asked, false), null);
  });
});

describe('byToken()', () => {
  const bearer = (text: string, fields: Partial<Credentials> = {}): Credentials =>
    asking({ authorization: `Bearer ${text}`, ...fields });

  it('finds the owner and acts in the team of the token', () => {
    const { secret: text } = given.addToken('tok_1', 'ada', 'team_a', { allTeams: true });
    const expected = { kind: 'token', userId: 'ada', tokenId: 'tok_1', teamId: 'team_a' };
    assert.deepEqual(auth.byToken(bearer(text)), expected);
    assert.deepEqual(auth.byToken(asking({ authorization: `bearer  ${text} ` })), expected);
  });

  it('says of one that is good when the last it was made for is gone', () => {
    given.addFolder('fld_1', 'team_a');
    given.addApp('app_1', 'team_a');
    const nodes = { teamIds: ['team_none'], folderIds: ['fld_1'], appIds: ['app_1'] };
    const { secret: text } = given.addToken('tok_1', 'ada', 'team_a', nodes);
    given.store.write([remove(tables.folders, 'fld_1')]);
    assert.equal(auth.byToken(bearer(text)).teamId, 'team_a');
    given.addApp('app_1', 'team_a', { deletedAtMs: 1 });
    for (const team of ['', 'team_a', 'team_b']) {
      assert.throws(() => auth.byToken(bearer(text, { team })), { code: 'TOKEN_SCOPE_GONE' });
    }
    given.addApp('app_1', 'team_a');
    assert.equal(auth.byToken(bearer(text)).teamId, 'team_a');
    given.store.write([put(tables.tokens, { ...tokenOf('tok_1'), expiresAtMs: 1 })]);
    assert.throws(() => auth.byToken(bearer(text)), { code: 'UNAUTHENTICATED' });
  });

  it('forgets one for a team with the team', () => {
    given.addTeam('team_c', 'ada');
    const scope = { teamIds: ['team_c'] };
    const { secret: text } = given.addToken('tok_1', 'ada', 'team_a', scope);
    assert.equal(auth.byToken(bearer(text)).teamId, 'team_c');
    given.store.write([remove(tables.teams, 'team_c')]);
    assert.throws(() => auth.byToken(bearer(text)), { code: 'TOKEN_SCOPE_GONE' });
  });

  it('answers the same for malformed, unknown, expired, revoked and orphaned ones', async () => {
    const expiring = given.addToken('tok_1', 'ada', 'team_a', {
      expiresAtMs: given.clock.now() + 1_000,
      allTeams: true,
    });
    const revoked = given.addToken('tok_2', 'ada', 'team_a', { allTeams: true });
    const orphaned = given.addToken('tok_3', 'bob', 'team_b', { allTeams: true });
    given.addApp('app_x', 'team_b');
    const scoped = given.addToken('tok_4', 'bob', 'team_b', { appIds: ['app_x'] });
    for (const { secret: text } of [expiring, revoked, orphaned, scoped]) {
      assert.equal(auth.byToken(bearer(text)).kind, 'token');
    }
    await given.clock.advance(1_000);
    given.store.write([remove(tables.tokens, 'tok_2'), remove(tables.auth, ['user', 'bob'])]);
    const bad = [
      expiring.secret,
      revoked.secret,
      orphaned.secret,
      scoped.secret,
      newTokenSecret(),
      'gwy_short',
      `${revoked.secret}x`,
      `${revoked.secret}, Bearer ${expiring.secret}`,
      'a.jwt.perhaps',
    ];
    for (const text of bad) {
      assert.throws(() => auth.byToken(bearer(text)), {
        code: 'UNAUTHENTICATED',
        message: 'The API token is not valid.',
      });
    }
  });

  it('tells a request without a token from one with a bad one', () => {
    for (const authorization of ['', 'Basic YTpi', 'Bearer', 'Bearer ']) {
      assert.throws(() => auth.byToken(asking({ authorization })), {
        code: 'UNAUTHENTICATED',
        message: 'This needs an API token.',
      });
    }
  });

  it('refuses a team outside its scope or lost by its owner, never taking another', () => {
    given.addMember('team_b', 'ada', 'viewer');
    const { secret: text } = given.addToken('tok_1', 'ada', 'team_a', { teamIds: ['team_a'] });
    const wide = given.addToken('tok_2', 'ada', 'team_a', { teamIds: ['team_b', 'team_a'] });
    assert.throws(() => auth.byToken(bearer(text, { team: 'team_b' })), { code: 'FORBIDDEN' });
    assert.equal(auth.byToken(bearer(wide.secret, { team: 'team-b' })).teamId, 'team_b');
    given.store.write([remove(tables.members, ['team_b', 'ada'])]);
    assert.throws(() => auth.byToken(bearer(wide.secret, { team: 'team-b' })), {
      code: 'FORBIDDEN',
    });
    assert.equal(auth.byToken(bearer(wide.secret)).teamId, 'team_a');
    given.store.write([remove(tables.members, ['team_a', 'ada'])]);
    assert.equal(auth.byToken(bearer(wide.secret)).teamId, null);
  });

  it('takes the first team of a scope of folders and apps', () => {
    given.addFolder('fld_1', 'team_a');
    const folder = given.addToken('tok_1', 'ada', 'team_b', { folderIds: ['fld_1'] });
    assert.equal(auth.byToken(bearer(folder.secret)).teamId, 'team_a');
    given.store.write([remove(tables.members, ['team_a', 'ada'])]);
    assert.equal(auth.byToken(bearer(folder.secret)).teamId, null);
  });

  it('notes the last use, at most once a minute and not after a revocation', async () => {
    const { secret: text } = given.addToken('tok_1', 'ada', 'team_a', { allTeams: true });
    const lastUse = (): unknown => given.store.get(tables.tokens, 'tok_1')?.lastUsedAtMs;
    const usedAtMs = given.clock.now();
    auth.byToken(bearer(text));
    await given.clock.advance(10_000);
    assert.equal(lastUse(), usedAtMs);
    auth.byToken(bearer(text));
    await given.clock.advance(10_000);
    assert.equal(lastUse(), usedAtMs);
    await given.clock.advance(60_000);
    auth.byToken(bearer(text));
    given.store.write([remove(tables.tokens, 'tok_1')]);
    await given.clock.advance(10_000);
    assert.equal(given.store.get(tables.tokens, 'tok_1'), undefined);
  });
});

describe('stillValid()', () => {
  it('follows sessions, tokens, people and memberships', () => {
    given.addSession('ses_1', 'ada');
    const token = given.addToken('tok_1', 'ada', 'team_a', { allTeams: true }).principal;
    assert.ok(auth.stillValid({ kind: 'anonymous' }));
    assert.ok(auth.stillValid(ada));
    assert.ok(auth.stillValid(token));
    given.store.write([remove(tables.tokens, 'tok_1')]);
    assert.equal(auth.stillValid(token), false);
    given.store.write([remove(tables.members, ['team_a', 'ada'])]);
    assert.equal(auth.stillValid(ada), false);
    assert.ok(auth.stillValid({ ...ada, teamId: null }));
    given.store.write([remove(tables.auth, ['session', 'ses_1'])]);
    assert.equal(auth.stillValid({ ...ada, teamId: null }), false);
  });

  it('ends with the expiry', async () => {
    given.addSession('ses_1', 'ada', { expiresAt: given.clock.now() + 5 });
    const expiresAtMs = given.clock.now() + 5;
    const token = given.addToken('tok_1', 'ada', 'team_a', { allTeams: true, expiresAtMs });
    await given.clock.advance(5);
    assert.equal(auth.stillValid(ada), false);
    assert.equal(auth.stillValid(token.principal), false);
  });
});

it('createAuthenticator() keeps no more than its bound', () => {
  const small = createAuthenticator({
    reader: given.store,
    subscribe: () => () => undefined,
    actors: given.runtime,
    clock: given.clock,
    log: given.log,
    secret,
    rememberedMax: 4,
  });
  const cookies = Array.from({ length: 20 }, (_, i) => cookie(given.addSession(`s${i}`, 'ada')));
  for (const cookieHeader of [...cookies, ...cookies]) {
    assert.equal(small.byCookie(asking({ cookieHeader })).kind, 'person');
  }
  given.store.write([
    put(tables.members, { teamId: 'x', userId: 'y', roleId: 'z', joinedAtMs: 0 }),
  ]);
  small.close();
});
