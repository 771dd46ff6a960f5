import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { needsSetup } from '../../../../src/auth/callers/account-reads.ts';
import { createToken } from '../../../../src/auth/callers/tokens.ts';
import { type AccountsOptions, Accounts } from '../../../../src/auth/sign-in/accounts.ts';
import type { Origin, SignIn } from '../../../../src/auth/sign-in/sign-in.ts';
import {
  type ClosableAuthenticator,
  createAuthenticator,
} from '../../../../src/auth/callers/authenticator.ts';
import { authorize } from '../../../../src/auth/rights/authorize.ts';
import type { Principal, SignedIn } from '../../../../src/auth/callers/principal.ts';
import { isSetupCode, newSetupCode } from '../../../../src/auth/sign-in/typed-codes.ts';
import type { Clock } from '../../../../src/lib/clock.ts';
import { tables } from '../../../../src/store/records/tables.ts';
import { AccountsFixture } from '../../../support/accounts-fixture.ts';
import { signInSecrets } from '../../../support/sign-in-secrets.ts';

const secret = 'a secret of this instance, 32 characters or more';
const setupCode = newSetupCode();
const ada = {
  email: 'Ada@Example.org ',
  password: 'correct horse',
  name: ' Ada ',
  teamName: 'Ada & Söhne',
  setupCode: null,
};

// The library reads the real time. Timers keep the process alive: nothing else here does.
const clock: Clock = {
  now: () => Date.now(),
  after: (delayMs, callback) => {
    const timer = setTimeout(callback, delayMs);
    return () => {
      clearTimeout(timer);
    };
  },
};

let given: AccountsFixture;
let auth: ClosableAuthenticator;
let accounts: Accounts;

beforeEach(() => {
  given = new AccountsFixture({ clock });
  const { store: reader, runtime: actors, log } = given;
  const subscribe: (typeof given.store)['subscribe'] = (listener) => reader.subscribe(listener);
  auth = createAuthenticator({ reader, subscribe, actors, clock, log, secret });
  const options: AccountsOptions = {
    reader,
    actors,
    clock,
    log,
    secret,
    ...signInSecrets(),
    setupCode,
    publicUrl: 'http://localhost:3000',
    sessionsMax: 3,
  };
  accounts = new Accounts(options);
});

afterEach(async () => {
  auth.close();
  await given.close();
});

function from(address: string, fields: Partial<Origin> = {}): Origin {
  const fromLoopback = address === '127.0.0.1';
  return { address, fromLoopback, secure: false, userAgent: 'test', ...fields };
}

const here = from('127.0.0.1');
const away = from('192.0.2.1');

function cookieHeaderOf(signIn: SignIn): string {
  assert.equal(signIn.cookies.length, 1);
  return signIn.cookies[0]?.split(';')[0] ?? '';
}

function principalOf(cookieHeader: string): Principal {
  return auth.byCookie({ cookieHeader, authorization: '', team: '' });
}

async function setUp(): Promise<SignIn> {
  return accounts.completeSetup(ada, here);
}

function login(fields: Partial<typeof ada> = {}, origin = here): Promise<SignIn> {
  return accounts.login({ email: ada.email, password: ada.password, ...fields }, origin);
}

function signedIn(signIn: SignIn): SignedIn {
  const principal = principalOf(cookieHeaderOf(signIn));
  assert.equal(principal.kind, 'person');
  return principal;
}

describe('completeSetup()', () => {
  it('makes the first person administrator and owner of the first team, signed in', async () => {
    assert.equal(needsSetup(given.store), true);
    const signIn = await setUp();
    assert.equal(needsSetup(given.store), false);
    assert.deepEqual(
      { ...signIn.user, id: '' },
      {
        id: '',
        email: 'ada@example.org',
        name: 'Ada',
        isInstanceAdmin: true,
        twoFactorEnabled: false,
      },
    );
    assert.match(signIn.user.id, /^usr_/);
    const team = given.store.find(tables.teams, 'slug', ['ada-sohne']);
    assert.ok(team);
    const principal = principalOf(cookieHeaderOf(signIn));
    assert.deepEqual(
      { ...principal, sessionId: '' },
      { kind: 'person', userId: signIn.user.id, sessionId: '', teamId: team.id },
    );
    authorize(given.store, principal, 'manage_team', { kind: 'team', teamId: team.id });
    authorize(given.store, principal, 'admin', { kind: 'instance' });
    const roles = given.store.list(tables.roles, 'team', [team.id]);
    assert.deepEqual(roles.map((role) => role.builtIn).sort(), ['member', 'owner', 'viewer']);
  });

  it('sets exactly one cookie of the decided form', async () => {
    const signIn = await setUp();
    const form = /^service\.session_token=[^;]+; Max-Age=604800; Path=\/; HttpOnly; SameSite=Lax$/;
    assert.match(signIn.cookies[0] ?? '', form);
    const secured = await login({}, from('127.0.0.1', { secure: true }));
    assert.match(secured.cookies[0] ?? '', /; HttpOnly; Secure; SameSite=Lax$/);
    assert.match(secured.cookies[0] ?? '', /^service\.session_token=/);
  });

  it('happens once: of two at the same time one wins', async () => {
    const both = await Promise.allSettled([
      setUp(),
      accounts.completeSetup({ ...ada, email: 'eve@example.org', teamName: 'Eve' }, here),
    ]);
    assert.deepEqual(both.map((result) => result.status).sort(), ['fulfilled', 'rejected']);
    const lost = both.find((result) => result.status === 'rejected');
    assert.equal((lost?.reason as { code: string }).code, 'CONFLICT');
    assert.equal(given.store.list(tables.auth, 'model', ['user']).length, 1);
    assert.equal([...given.store.scan(tables.teams)].length, 1);
    await assert.rejects(setUp(), { code: 'CONFLICT' });
  });

  it('needs the code off loopback, in constant patience', async () => {
    const tryWith = (code: string | null): Promise<SignIn> =>
      accounts.completeSetup({ ...ada, setupCode: code }, away);
    await assert.rejects(tryWith(null), { code: 'SETUP_CODE_REQUIRED' });
    for (let i = 0; i < 10; i++) {
      await assert.rejects(tryWith(newSetupCode()), { code: 'SETUP_CODE_REQUIRED' });
    }
    await assert.rejects(tryWith(setupCode), { code: 'RATE_LIMITED' });
    assert.equal(needsSetup(given.store), true);
    const typed = ` ${setupCode.toUpperCase().replaceAll('-', ' ')}`;
    const other = from('198.51.100.1');
    assert.ok(await accounts.completeSetup({ ...ada, setupCode: typed }, other));
  });

  it('refuses unusable input and leaves the instance to be set up', async () => {
    const bad: Partial<typeof ada>[] = [
      { email: '' },
      { email: 'ada' },
      { email: 'ada@localhost' },
      { email: 'a b@example.org' },
      { email: `${'a'.repeat(250)}@example.org` },
      { password: 'too short' },
      { password: 'x'.repeat(129) },
      { name: ' ' },
      { name: 'x'.repeat(101) },
      { teamName: '' },
      { teamName: 'a\nb' },
    ];
    for (const fields of bad) {
      const refused = accounts.completeSetup({ ...ada, ...fields }, here);
      await assert.rejects(refused, { code: 'BAD_USER_INPUT' }, JSON.stringify(fields));
    }
    assert.equal(needsSetup(given.store), true);
    await accounts.completeSetup({ ...ada, password: '𝒳'.repeat(128), teamName: '日本' }, here);
    assert.ok(given.store.find(tables.teams, 'slug', ['team']));
  });
});

describe('login()', () => {
  it('makes a new session each time, in the first team', async () => {
    const first = await setUp();
    const second = await login({ email: 'ADA@example.ORG' });
    assert.notEqual(cookieHeaderOf(first), cookieHeaderOf(second));
    for (const one of [first, second]) assert.equal(signedIn(one).userId, first.user.id);
    const session = given.store.list(tables.auth, 'model', ['session'])[0];
    assert.match(String(session?.fields['currentTeamId']), /^team_/);
    assert.equal(session?.fields['ipAddress'], '127.0.0.1');
    assert.equal(session.fields['userAgent'], 'test');
  });

  it('answers an unknown address and a wrong password alike', async () => {
    await setUp();
    const expected = { code: 'UNAUTHENTICATED', message: 'The address or the password is wrong.' };
    await assert.rejects(login({ password: 'wrong horse!' }), expected);
    await assert.rejects(login({ email: 'eve@example.org' }), expected);
    await assert.rejects(login({ email: 'not an address' }), expected);
    await assert.rejects(login({ password: '' }), expected);
    await assert.rejects(login({ password: ada.password.repeat(1_000) }), expected);
  });

  it('refuses the right password after ten wrong ones, from that address only', async () => {
    await setUp();
    for (let i = 0; i < 10; i++) {
      await assert.rejects(login({ password: `wrong ${i} horse` }, away), {
        code: 'UNAUTHENTICATED',
      });
    }
    await assert.rejects(login({}, away), { code: 'RATE_LIMITED' });
    assert.ok(await login({}, here));
  });

  it('lets twenty sign in at once', async () => {
    await setUp();
    const all = await Promise.all(Array.from({ length: 20 }, () => login()));
    assert.equal(new Set(all.map(cookieHeaderOf)).size, 20);
  });

  it('keeps no more sessions than allowed, the latest used ones', async (test) => {
    // Each in a millisecond of its own: those of one are equally late.
    test.mock.timers.enable({ apis: ['Date'], now: Date.now() });
    const first = await setUp();
    const rest: SignIn[] = [];
    for (let i = 0; i < 3; i++) {
      test.mock.timers.tick(1);
      rest.push(await login());
    }
    assert.equal(principalOf(cookieHeaderOf(first)).kind, 'anonymous');
    for (const one of rest) assert.equal(principalOf(cookieHeaderOf(one)).kind, 'person');
    assert.equal(given.store.count(tables.auth, 'model', ['session']), 3);
  });

  it('logs neither passwords nor cookies', async () => {
    const signIn = await setUp();
    await assert.rejects(login({ password: 'wrong horse!' }));
    const logged = JSON.stringify(given.log.records);
    assert.match(logged, /sign_in_refused/);
    for (const text of [ada.password, 'wrong horse!', cookieHeaderOf(signIn), setupCode]) {
      assert.ok(!logged.includes(text));
    }
  });
});

describe('logout() and switchTeam()', () => {
  it('end the session at once and clear the cookie', async () => {
    const first = await setUp();
    const second = await login();
    const cookies = await accounts.logout(signedIn(first), from('127.0.0.1', { secure: true }));
    assert.deepEqual(cookies, [
      'service.session_token=; Max-Age=0; Path=/; HttpOnly; Secure; SameSite=Lax',
    ]);
    assert.equal(principalOf(cookieHeaderOf(first)).kind, 'anonymous');
    assert.equal(principalOf(cookieHeaderOf(second)).kind, 'person');
    assert.equal((await accounts.logout({ kind: 'anonymous' }, here)).length, 1);
  });

  it('change the team of one session, to a team the person is in', async () => {
    const signIn = await setUp();
    given.addUser('bob');
    given.addTeam('team_b', 'bob');
    const principal = signedIn(signIn);
    await assert.rejects(accounts.switchTeam(principal, 'team_b'), { code: 'FORBIDDEN' });
    await assert.rejects(accounts.switchTeam(principal, 'team_x'), { code: 'FORBIDDEN' });
    given.addMember('team_b', principal.userId, 'viewer');
    const other = await login();
    const home = signedIn(other).teamId;
    assert.equal((await accounts.switchTeam(principal, 'team_b')).id, 'team_b');
    assert.equal(signedIn(signIn).teamId, 'team_b');
    assert.equal(signedIn(other).teamId, home);
  });

  it('are closed to tokens', async () => {
    const principal = signedIn(await setUp());
    const { store: reader, runtime: actors } = given;
    const { secret: text } = await createToken({ reader, actors, clock }, principal, {
      name: 'ci',
      capabilities: [],
      teamIds: [],
      folderIds: [],
      appIds: [],
      databaseIds: [],
      expiresAtMs: null,
    });
    const credentials = {
      cookieHeader: '',
      authorization: `Bearer ${text}`,
      team: '',
    };
    const token = auth.byToken(credentials);
    await assert.rejects(accounts.logout(token, here), { code: 'FORBIDDEN' });
    await assert.rejects(accounts.switchTeam(token, String(token.teamId)), { code: 'FORBIDDEN' });
  });
});

describe('isSetupCode()', () => {
  it('knows the code however it is typed, and no other', () => {
    const code = newSetupCode();
    assert.match(code, /^[0-9a-z]{4}-[0-9a-z]{4}-[0-9a-z]{4}$/);
    assert.ok(isSetupCode(code.replaceAll('-', ''), code));
    assert.equal(isSetupCode('', code), false);
    assert.equal(isSetupCode(newSetupCode(), code), false);
  });
});
