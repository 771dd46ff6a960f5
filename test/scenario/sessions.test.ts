import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, it } from 'node:test';
import { AuthenticatorApp } from '../support/authenticator-app.ts';
import { owner } from '../support/gangway-client.ts';
import type { Client } from '../support/gangway-client.ts';
import { Gangway } from '../support/gangway.ts';

const login = `mutation($email: String!, $password: String!) {
  login(email: $email, password: $password) { requiresTwoFactor viewer { email } } }`;
const change = `mutation($currentPassword: String!, $newPassword: String!) {
  changePassword(currentPassword: $currentPassword, newPassword: $newPassword) }`;
const revoke = 'mutation($id: ID!) { revokeSession(id: $id) }';
const sessions = '{ mySessions { id current address userAgent createdAt lastSeenAt } }';

interface Session {
  id: string;
  current: boolean;
  address: string | null;
  userAgent: string | null;
  createdAt: string;
  lastSeenAt: string | null;
}

async function sessionsOf(client: Client): Promise<Session[]> {
  return (await client.must<{ mySessions: Session[] }>(sessions)).mySessions;
}

async function isSignedIn(client: Client): Promise<boolean> {
  return (await client.must<{ me: object | null }>('{ me { id } }')).me !== null;
}

function form(fields: Record<string, string>, headers: Record<string, string> = {}): RequestInit {
  return { method: 'POST', body: new URLSearchParams(fields), headers };
}

let gangway: Gangway;
before(async () => {
  gangway = await Gangway.open();
});
after(() => gangway.end());

describe('gangway reset-password', () => {
  async function linkFor(...args: string[]): Promise<string> {
    const { code, text } = await gangway.run(['reset-password', ...args]);
    assert.equal(code, 0, text);
    const link = new RegExp(`${gangway.url}(/reset/[\\w-]{43})`).exec(text)?.[1];
    assert.ok(link, text);
    return link;
  }

  it('knows who is there, and says so in a line', async () => {
    const { code, text } = await gangway.run(['reset-password', 'nobody@example.com']);
    assert.deepEqual(
      [code, text],
      [1, 'gangway: No account has the address nobody@example.com.\n'],
    );
    assert.equal((await gangway.run(['reset-password'])).code, 2);
    assert.equal((await gangway.run(['reset-password', owner.email, '--what'])).code, 2);
  });

  it('makes a link while the service runs, good once, that ends all sessions', async () => {
    const replaced = await linkFor(owner.email);
    const link = await linkFor(owner.email.toUpperCase());
    const stranger = gangway.stranger();
    assert.equal((await stranger.ask(replaced)).status, 404, 'the newer one took its place');
    const page = await stranger.ask(link);
    assert.equal(page.status, 200);
    assert.match(page.headers.get('content-security-policy') ?? '', /default-src 'none'/);
    assert.equal(page.headers.get('cache-control'), 'no-store');
    assert.ok(!page.text.includes('<script'));
    const sent = { 'sec-fetch-site': 'cross-site' };
    assert.equal(
      (await stranger.ask(link, form({ password: 'a new password' }, sent))).status,
      403,
    );
    assert.equal((await stranger.ask(link, form({ password: 'short' }))).status, 400);
    assert.equal(await isSignedIn(gangway.client), true);
    const answers = await Promise.all(
      ['a new password', 'another password'].map((one) =>
        stranger.ask(link, form({ password: one })),
      ),
    );
    const statuses = answers.map(({ status }) => status);
    assert.deepEqual([...statuses].sort(), [200, 404]);
    assert.equal(await isSignedIn(gangway.client), false);
    const password = statuses[0] === 200 ? 'a new password' : 'another password';
    assert.equal((await stranger.ask(link)).status, 404);
    assert.equal((await stranger.ask(link, form({ password: 'a third password' }))).status, 404);
    await gangway.client.must(login, { email: owner.email, password });
    assert.equal(await gangway.stranger().fails(login, owner), 'UNAUTHENTICATED');
    const leak = link.split('/').at(-1) ?? '';
    assert.ok(!gangway.output.includes(leak), 'the link is in no log');
  });

  it('makes one while it does not run; forged and cut ones are none', async () => {
    await gangway.stop();
    const link = await linkFor(owner.email);
    await gangway.start();
    const stranger = gangway.stranger();
    for (const off of [
      link.slice(0, -1),
      `${link}A`,
      '/reset/..%2f..%2finstance.key',
      `/reset/${'A'.repeat(43)}`,
    ]) {
      assert.equal((await stranger.ask(off)).status, 404, off);
      assert.equal(
        (await stranger.ask(off, form({ password: 'a new password' }))).status,
        404,
        off,
      );
    }
    assert.equal((await stranger.ask(link, form({ password: owner.password }))).status, 200);
    await gangway.client.must(login, owner);
  });

  it('lets in who ran into the limit of wrong passwords', async () => {
    const stranger = gangway.stranger();
    const off = { email: owner.email, password: 'not the password' };
    let status = 200;
    for (let tries = 0; status === 200 && tries < 12; tries++) {
      ({ status } = await stranger.graphql(login, off));
    }
    assert.equal(status, 429);
    const link = await linkFor(owner.email);
    assert.equal((await stranger.ask(link, form({ password: owner.password }))).status, 200);
    await gangway.client.must(login, owner);
  });

  it('leaves two-factor on unless told to turn it off', async () => {
    const { client } = gangway;
    const { startTwoFactorEnrolment } = await client.must<{
      startTwoFactorEnrolment: { uri: string };
    }>(
      'mutation($password: String!) { startTwoFactorEnrolment(password: $password) { uri } }',
      owner,
    );
    const app = new AuthenticatorApp(startTwoFactorEnrolment.uri);
    const code = await app.fresh();
    await client.must('mutation($code: String!) { confirmTwoFactorEnrolment(code: $code) }', {
      code,
    });
    const stranger = gangway.stranger();
    const kept = await linkFor(owner.email);
    assert.equal((await stranger.ask(kept, form({ password: owner.password }))).status, 200);
    const first = await stranger.must<{ login: object }>(login, owner);
    assert.deepEqual(first.login, { requiresTwoFactor: true, viewer: null });
    const ended = await linkFor(owner.email, '--disable-two-factor');
    assert.match((await stranger.ask(ended)).text, /turns two-factor off/);
    assert.equal((await stranger.ask(ended, form({ password: owner.password }))).status, 200);
    const second = await stranger.must<{ login: object }>(login, owner);
    assert.deepEqual(second.login, { requiresTwoFactor: false, viewer: { email: owner.email } });
  });
});

describe('sessions and passwords', () => {
  let password = owner.password;
  const signIn = async (): Promise<Client> => {
    const client = gangway.stranger();
    const headers = { 'user-agent': 'A browser' };
    await client.must(login, { email: owner.email, password }, headers);
    return client;
  };
  beforeEach(async () => {
    gangway.client = await signIn();
  });

  it('are new with every sign-in, whatever cookie came with it, by a cookie that scripts do not see', async () => {
    const before = gangway.client.cookie;
    const client = gangway.stranger();
    client.cookie = before;
    const answer = await client.graphql(login, { email: owner.email, password });
    const [cookie = ''] = answer.headers.getSetCookie();
    assert.match(
      cookie,
      /^service\.session_token=[^;]+; Max-Age=604800; Path=\/; HttpOnly; SameSite=Lax$/,
    );
    assert.notEqual(client.cookie, before);
    const ids = new Set(
      [...(await sessionsOf(client)), ...(await sessionsOf(gangway.client))].map(({ id }) => id),
    );
    assert.ok(ids.size >= 2);
  });

  it('are listed with where they are, and end one by one', async () => {
    const other = await signIn();
    const mine = await sessionsOf(gangway.client);
    const current = mine.filter((session) => session.current);
    assert.equal(current.length, 1);
    const [theirs] = (await sessionsOf(other)).filter((session) => session.current);
    assert.ok(theirs && theirs.id !== current[0]?.id);
    assert.equal(theirs.address, '127.0.0.1');
    assert.equal(theirs.userAgent, 'A browser');
    assert.ok(Date.parse(theirs.lastSeenAt ?? '') >= Date.parse(theirs.createdAt));
    await gangway.client.must(revoke, { id: theirs.id });
    assert.equal(await isSignedIn(other), false);
    assert.equal(await gangway.client.fails(revoke, { id: theirs.id }), 'NOT_FOUND');
    assert.equal(await gangway.client.fails(revoke, { id: 'ses_nobody' }), 'NOT_FOUND');
    assert.equal(await gangway.client.fails(revoke, { id: '' }), 'NOT_FOUND');
    const answer = await gangway.client.graphql(revoke, { id: current[0]?.id });
    assert.match(answer.headers.getSetCookie()[0] ?? '', /^service\.session_token=; Max-Age=0;/);
    assert.equal(await isSignedIn(gangway.client), false);
  });

  it('end with a new password, all but the one that set it', async () => {
    const other = await signIn();
    const given = { currentPassword: password, newPassword: 'a better password' };
    const off = { ...given, currentPassword: 'not the password' };
    assert.equal(await gangway.client.fails(change, off), 'FORBIDDEN');
    for (const newPassword of ['short', 'x'.repeat(129), '']) {
      const refused = { ...given, newPassword };
      assert.equal(await gangway.client.fails(change, refused), 'BAD_USER_INPUT');
    }
    assert.equal(await isSignedIn(other), true);
    await gangway.client.must(change, given);
    assert.equal(await isSignedIn(gangway.client), true);
    assert.equal(await isSignedIn(other), false);
    const old = { email: owner.email, password };
    assert.equal(await gangway.stranger().fails(login, old), 'UNAUTHENTICATED');
    password = given.newPassword;
    await signIn();
    const [only, ...more] = (await sessionsOf(gangway.client)).filter((one) => one.current);
    assert.ok(only && more.length === 0);
  });

  it("are no concern of tokens, and nobody else's", async () => {
    const authorization = `Bearer ${await gangway.client.token({ capabilities: [] })}`;
    const given = { currentPassword: password, newPassword: 'a better password' };
    const stranger = gangway.stranger();
    for (const [query, variables] of [
      [sessions, {}],
      [revoke, { id: 'ses_any' }],
      [change, given],
    ] as const) {
      assert.equal(await stranger.fails(query, variables, { authorization }), 'FORBIDDEN');
      assert.equal(await stranger.fails(query, variables), 'UNAUTHENTICATED');
    }
    const sent = { 'sec-fetch-site': 'cross-site' };
    assert.equal(await gangway.client.fails(change, given, sent), 'CROSS_SITE');
  });

  it('hears ten wrong passwords from one place, where they are typed', async () => {
    const wrong = { currentPassword: 'not the password', newPassword: 'a better password' };
    let status = 200;
    for (let tries = 0; status === 200 && tries < 12; tries++) {
      ({ status } = await gangway.client.graphql(change, wrong));
    }
    assert.equal(status, 429);
    const right = { email: owner.email, password };
    const refused = await gangway.stranger().graphql(login, right);
    assert.equal(refused.status, 429);
    assert.ok(Number(refused.headers.get('retry-after')) > 60);
  });
});
