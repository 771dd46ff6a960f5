import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { teamActor } from '../../src/actors/team/protocol.ts';
import { needsSetup } from '../../src/auth/callers/account-reads.ts';
import { createToken } from '../../src/auth/callers/tokens.ts';
import { Accounts } from '../../src/auth/sign-in/accounts.ts';
import type { Origin, SignIn } from '../../src/auth/sign-in/sign-in.ts';
import {
  type ClosableAuthenticator,
  createAuthenticator,
} from '../../src/auth/callers/authenticator.ts';
import type { Principal, SignedIn } from '../../src/auth/callers/principal.ts';
import { systemClock as clock } from '../../src/lib/clock.ts';
import { tables } from '../../src/store/records/tables.ts';
import { type StoredAccounts, openAccounts } from '../support/stored-accounts.ts';
import { signInSecrets } from '../support/sign-in-secrets.ts';

const secret = 'a secret of this instance, 32 characters or more';
const person = { email: 'ada@example.org', password: 'correct horse' };
const setup = { ...person, name: 'Ada', teamName: 'Ada', setupCode: null };
const here: Origin = { address: '127.0.0.1', fromLoopback: true, secure: false, userAgent: '' };

interface Instance {
  stored: StoredAccounts;
  accounts: Accounts;
  auth: ClosableAuthenticator;
}

async function within(
  dir: string | undefined,
  story: (instance: Instance) => Promise<void>,
): Promise<void> {
  const stored = await openAccounts(dir);
  const { store: reader, runtime: actors, log } = stored;
  const subscribe: typeof reader.subscribe = (listener) => reader.subscribe(listener);
  const publicUrl = 'http://localhost:3000';
  const accounts = new Accounts({
    reader,
    actors,
    clock,
    log,
    secret,
    ...signInSecrets(),
    setupCode: 'code',
    publicUrl,
  });
  const auth = createAuthenticator({ reader, subscribe, actors, clock, log, secret });
  try {
    await story({ stored, accounts, auth });
  } finally {
    auth.close();
    await stored.close();
  }
}

function cookieOf(signIn: SignIn): string {
  return signIn.cookies[0]?.split(';')[0] ?? '';
}

function byCookie(auth: ClosableAuthenticator, cookieHeader: string): Principal {
  return auth.byCookie({ cookieHeader, authorization: '', team: '' });
}

/** How many records a set-up instance has that an untouched one has not. */
function countOf({ store }: StoredAccounts): Record<string, number> {
  return {
    users: store.count(tables.auth, 'model', ['user']),
    accounts: store.count(tables.auth, 'model', ['account']),
    teams: [...store.scan(tables.teams)].length,
    roles: [...store.scan(tables.roles)].length,
    members: [...store.scan(tables.members)].length,
  };
}

const untouched = { users: 0, accounts: 0, teams: 0, roles: 0, members: 0 };
const complete = { users: 1, accounts: 1, teams: 1, roles: 3, members: 1 };

function setUpAndDie(dir: string, transaction: number, place: string): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const args = [...process.execArgv, 'test/support/setup-child.ts'];
    const child = spawn(process.execPath, [...args, dir, String(transaction), place]);
    let output = '';
    let errors = '';
    child.stdout.on('data', (chunk: Buffer) => (output += chunk.toString()));
    child.stderr.on('data', (chunk: Buffer) => (errors += chunk.toString()));
    child.once('error', reject);
    child.once('close', (code, signal) => {
      if (signal === 'SIGKILL') resolve(false);
      else if (code === 0 && output === 'done') resolve(true);
      else reject(new Error(`the child ended with ${String(code)}: ${errors}`));
    });
  });
}

describe('signing in, over the real store', () => {
  it('sets up once of two at the same time, and ends sessions and tokens at once', () =>
    within(undefined, async ({ stored, accounts, auth }) => {
      const [first, second] = await Promise.allSettled([
        accounts.completeSetup(setup, here),
        accounts.completeSetup({ ...setup, email: 'eve@example.org' }, here),
      ]);
      const won = [first, second].find((result) => result.status === 'fulfilled');
      const lost = [first, second].find((result) => result.status === 'rejected');
      assert.ok(won && lost);
      assert.equal((lost.reason as { code: string }).code, 'CONFLICT');
      assert.deepEqual(countOf(stored), complete);

      const cookie = cookieOf(won.value);
      const principal = byCookie(auth, cookie) as SignedIn;
      assert.equal(principal.kind, 'person');
      const { store: reader, runtime: actors } = stored;
      const { token, secret: text } = await createToken({ reader, actors, clock }, principal, {
        name: 'ci',
        capabilities: ['deploy_apps'],
        teamIds: [],
        folderIds: [],
        appIds: [],
        databaseIds: [],
        expiresAtMs: null,
      });
      const bearer = { cookieHeader: '', authorization: `Bearer ${text}`, team: '' };
      assert.equal(auth.byToken(bearer).kind, 'token');
      const revoke = { type: 'token-revoke', tokenId: token.id } as const;
      await actors.ask(teamActor.at(token.homeTeamId), revoke);
      assert.throws(() => auth.byToken(bearer), { code: 'UNAUTHENTICATED' });
      await accounts.logout(principal, here);
      assert.deepEqual(byCookie(auth, cookie), { kind: 'anonymous' });
      assert.equal(auth.stillValid(principal), false);
    }));

  it('is set up wholly or not at all after a kill -9 at any moment', async () => {
    const found = new Set<string>();
    for (let transaction = 1, through = false; !through; transaction++) {
      assert.ok(transaction < 20, 'setting up takes a handful of transactions');
      for (const place of ['inside', 'after']) {
        const dir = await mkdtemp(join(tmpdir(), 'gangway-setup-'));
        try {
          through = await setUpAndDie(dir, transaction, place);
          await within(dir, async ({ stored, accounts, auth }) => {
            found.add(needsSetup(stored.store) ? 'untouched' : 'complete');
            if (needsSetup(stored.store)) {
              assert.deepEqual(countOf(stored), untouched);
              await accounts.completeSetup(setup, here);
            }
            assert.deepEqual(countOf(stored), complete);
            const signIn = await accounts.login(person, here);
            assert.equal(byCookie(auth, cookieOf(signIn)).kind, 'person');
          });
        } finally {
          await rm(dir, { recursive: true, force: true });
        }
      }
    }
    assert.deepEqual([...found].sort(), ['complete', 'untouched']);
  });
});
