import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { readUser } from '../../../../src/auth/callers/account-reads.ts';
import type { User } from '../../../../src/auth/callers/account-reads.ts';
import { TwoFactor } from '../../../../src/auth/sign-in/two-factor.ts';
import { tables } from '../../../../src/store/records/tables.ts';
import { AccountsFixture } from '../../../support/accounts-fixture.ts';
import { AuthenticatorApp } from '../../../support/authenticator-app.ts';
import { signInSecrets } from '../../../support/sign-in-secrets.ts';

const stepMs = 30_000;
const userId = 'usr_ann';
const app = (code: string) => ({ code, kind: 'app' }) as const;
const recovery = (code: string) => ({ code, kind: 'recovery' }) as const;

let given: AccountsFixture;
let twoFactor: TwoFactor;
const { secrets } = signInSecrets();

function open(): TwoFactor {
  const { store: reader, runtime: actors, clock } = given;
  return new TwoFactor({ reader, actors, clock, secrets });
}

beforeEach(() => {
  given = new AccountsFixture();
  given.addUser(userId);
  twoFactor = open();
});
afterEach(() => given.close());

function user(): User {
  const found = readUser(given.store, userId);
  assert.ok(found);
  return found;
}

async function enrolled(): Promise<{ phone: AuthenticatorApp; recoveryCodes: string[] }> {
  const { uri, recoveryCodes } = await twoFactor.start(user());
  const phone = new AuthenticatorApp(uri);
  await twoFactor.confirm(userId, phone.codeAt(given.clock.now()));
  await given.clock.advance(stepMs);
  return { phone, recoveryCodes };
}

describe('enrolling', () => {
  it('is in force with its first code and not before', async () => {
    const { uri } = await twoFactor.start(user());
    const phone = new AuthenticatorApp(uri);
    assert.equal(phone.label, 'usr_ann@example.org');
    assert.equal(user().twoFactorEnabled, false);
    assert.equal(await twoFactor.use(userId, app(phone.codeAt(given.clock.now())), false), false);
    await twoFactor.confirm(userId, phone.codeAt(given.clock.now()));
    assert.equal(user().twoFactorEnabled, true);
    await assert.rejects(twoFactor.start(user()), { code: 'CONFLICT' });
    const again = twoFactor.confirm(userId, phone.codeAt(given.clock.now() + stepMs));
    await assert.rejects(again, { code: 'CONFLICT' });
  });

  it('waits for 15 minutes, and is replaced by a new start', async () => {
    const first = new AuthenticatorApp((await twoFactor.start(user())).uri);
    const second = new AuthenticatorApp((await twoFactor.start(user())).uri);
    const old = twoFactor.confirm(userId, first.codeAt(given.clock.now()));
    await assert.rejects(old, { code: 'BAD_USER_INPUT' });
    await given.clock.advance(15 * 60_000);
    const late = twoFactor.confirm(userId, second.codeAt(given.clock.now()));
    await assert.rejects(late, { code: 'CONFLICT' });
    assert.equal(user().twoFactorEnabled, false);
  });

  it('stores neither the secret nor a recovery code as it is', async () => {
    const { uri, recoveryCodes } = await twoFactor.start(user());
    const record = given.store.get(tables.twoFactor, userId);
    assert.ok(record);
    const stored = Buffer.from(record.sealed).toString('latin1') + JSON.stringify(record);
    const secret = new URL(uri).searchParams.get('secret') ?? '';
    assert.ok(secret.length >= 32 && !stored.includes(secret));
    assert.equal(record.recoveryHashes.length, 10);
    for (const code of recoveryCodes) assert.ok(!stored.includes(code.replaceAll('-', '')));
  });
});

describe('a code', () => {
  it('is good one step early or late, and no further', async () => {
    const { phone } = await enrolled();
    await given.clock.advance(10 * stepMs);
    const at = (away: number) => phone.codeAt(given.clock.now() + away * stepMs);
    assert.equal(await twoFactor.use(userId, app(at(-2)), false), false);
    assert.equal(await twoFactor.use(userId, app(at(2)), false), false);
    assert.equal(await twoFactor.use(userId, app(at(-1)), false), true);
    assert.equal(await twoFactor.use(userId, app(at(1)), false), true);
    assert.equal(await twoFactor.use(userId, app(at(0)), false), false, 'a later one was used');
  });

  it('is good once: in turn, at once, and after a restart', async () => {
    const { phone } = await enrolled();
    const code = phone.codeAt(given.clock.now());
    const tries = await Promise.all(
      Array.from({ length: 5 }, () => twoFactor.use(userId, app(code), false)),
    );
    assert.deepEqual(
      tries.filter((right) => right),
      [true],
    );
    assert.equal(await twoFactor.use(userId, app(code), false), false);
    assert.equal(await open().use(userId, app(code), false), false);
  });

  it('that confirmed the enrolment was used', async () => {
    const phone = new AuthenticatorApp((await twoFactor.start(user())).uri);
    const code = phone.codeAt(given.clock.now());
    await twoFactor.confirm(userId, code);
    assert.equal(await twoFactor.use(userId, app(code), false), false);
  });

  it('may be typed in groups; what is no code is wrong', async () => {
    const { phone } = await enrolled();
    const code = phone.codeAt(given.clock.now());
    for (const off of ['', '12345', '1234567', 'abcdef', '１２３４５６', `${code}0`]) {
      assert.equal(await twoFactor.use(userId, app(off), false), false, off);
    }
    const spaced = ` ${code.slice(0, 3)} ${code.slice(3)} `;
    assert.equal(await twoFactor.use(userId, app(spaced), false), true);
  });

  it('is heard ten times in 15 minutes when it is wrong', async () => {
    const { phone } = await enrolled();
    const right = () => app(phone.codeAt(given.clock.now()));
    for (let i = 0; i < 10; i++) {
      assert.equal(await twoFactor.use(userId, app('nothing'), false), false);
    }
    await assert.rejects(twoFactor.use(userId, right(), false), { code: 'RATE_LIMITED' });
    await given.clock.advance(15 * 60_000);
    assert.equal(await twoFactor.use(userId, right(), false), true);
  });
});

describe('a recovery code', () => {
  it('is good once, however it is typed, and for its person alone', async () => {
    const { recoveryCodes } = await enrolled();
    const [first = '', second = ''] = recoveryCodes;
    const typed = ` ${first.toUpperCase().replaceAll('-', ' ')}`;
    assert.equal(await twoFactor.use('usr_bob', recovery(first), false), false);
    assert.equal(await twoFactor.use(userId, recovery(typed), false), true);
    assert.equal(await twoFactor.use(userId, recovery(first), false), false);
    assert.equal(
      await twoFactor.use(userId, app(second), false),
      false,
      'it is no code of the app',
    );
    assert.equal(await twoFactor.use(userId, { code: second, kind: 'either' }, false), true);
    assert.equal(given.store.get(tables.twoFactor, userId)?.recoveryHashes.length, 8);
  });

  it('turns two-factor off, and everything of it goes', async () => {
    const { recoveryCodes } = await enrolled();
    const [first = '', second = ''] = recoveryCodes;
    assert.equal(await twoFactor.use(userId, { code: first, kind: 'either' }, true), true);
    assert.equal(user().twoFactorEnabled, false);
    assert.equal(given.store.get(tables.twoFactor, userId), undefined);
    assert.equal(await twoFactor.use(userId, recovery(second), false), false);
  });
});
