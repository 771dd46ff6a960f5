import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { AuthenticatorApp, enrol, type Enrolment } from '../support/authenticator-app.ts';
import { emailOf, inTeam, join, roleNamed } from '../support/access-world.ts';
import type { Client } from '../support/gangway-client.ts';
import { owner } from '../support/gangway-client.ts';
import { Gangway } from '../support/gangway.ts';

const login = `mutation($email: String!, $password: String!) {
  login(email: $email, password: $password) { requiresTwoFactor viewer { email } } }`;
const verify = `mutation($code: String!, $recoveryCode: Boolean) {
  verifyTwoFactorLogin(code: $code, recoveryCode: $recoveryCode) {
    requiresTwoFactor viewer { email twoFactorEnabled } } }`;
const start = `mutation($password: String!) {
  startTwoFactorEnrolment(password: $password) { uri recoveryCodes } }`;
const confirm = 'mutation($code: String!) { confirmTwoFactorEnrolment(code: $code) }';
const disable = `mutation($password: String!, $code: String!) {
  disableTwoFactor(password: $password, code: $code) }`;

/** A client that gave the password, and holds the cookie of the second step. */
async function firstStep(gangway: Gangway): Promise<Client> {
  const client = gangway.stranger();
  const answer = await client.graphql<{ login: object }>(login, owner);
  assert.deepEqual(answer.data?.login, { requiresTwoFactor: true, viewer: null });
  assert.equal(client.cookie, '', 'there is no session yet');
  const [cookie = '', ...more] = answer.headers.getSetCookie();
  assert.deepEqual(more, []);
  assert.match(
    cookie,
    /^service\.two_factor=[\w-]{43}; Max-Age=300; Path=\/; HttpOnly; SameSite=Lax$/,
  );
  client.cookie = cookie.split(';')[0] ?? '';
  return client;
}

interface Required {
  twoFactorGraceUntil: string | null;
  withoutTwoFactor: { member: { email: string }; tokens: { name: string }[] }[];
}

describe('two-factor', () => {
  let gangway: Gangway;
  let app: AuthenticatorApp;
  let recoveryCodes: string[];
  before(async () => {
    gangway = await Gangway.open();
  });
  after(() => gangway.end());

  it('is not on before its first code came, and a new start replaces an old one', async () => {
    const { client } = gangway;
    assert.equal(await client.fails(confirm, { code: '000000' }), 'CONFLICT');
    assert.equal(await client.fails(start, { password: 'not the password' }), 'FORBIDDEN');
    const first = await client.must<{ startTwoFactorEnrolment: Enrolment }>(start, owner);
    const second = await client.must<{ startTwoFactorEnrolment: Enrolment }>(start, owner);
    assert.notEqual(first.startTwoFactorEnrolment.uri, second.startTwoFactorEnrolment.uri);
    await gangway.signIn();
    const replaced = new AuthenticatorApp(first.startTwoFactorEnrolment.uri);
    const code = await replaced.fresh();
    assert.equal(await client.fails(confirm, { code }), 'BAD_USER_INPUT');
    app = new AuthenticatorApp(second.startTwoFactorEnrolment.uri);
    ({ recoveryCodes } = second.startTwoFactorEnrolment);
    assert.match(second.startTwoFactorEnrolment.uri, /^otpauth:\/\/totp\/Gangway:/);
    assert.equal(app.label, owner.email);
    assert.equal(new Set(recoveryCodes).size, 10);
    assert.equal(await client.fails(confirm, { code: app.wrong() }), 'BAD_USER_INPUT');
    const me = await client.must<{ me: object }>('{ me { twoFactorEnabled } }');
    assert.deepEqual(me.me, { twoFactorEnabled: false });
  });

  it('is asked for once it is on, and a code is good once', async () => {
    const code = await app.fresh();
    await gangway.client.must(confirm, { code });
    assert.equal(await gangway.client.fails(start, owner), 'CONFLICT');
    const client = await firstStep(gangway);
    assert.equal(await client.fails(verify, { code }), 'UNAUTHENTICATED', 'it confirmed before');
    assert.equal(await client.fails(verify, { code: app.wrong() }), 'UNAUTHENTICATED');
    const next = await app.fresh();
    const pending = client.cookie;
    const answer = await client.graphql<{ verifyTwoFactorLogin: object }>(verify, { code: next });
    assert.deepEqual(answer.data?.verifyTwoFactorLogin, {
      requiresTwoFactor: false,
      viewer: { email: owner.email, twoFactorEnabled: true },
    });
    assert.match(client.cookie, /^service\.session_token=/);
    assert.ok(
      answer.headers.getSetCookie().some((one) => one.startsWith('service.two_factor=; Max-Age=0')),
    );
    await client.must('{ mySessions { id } }');
    client.cookie = pending;
    assert.equal(await client.fails(verify, { code: next }), 'UNAUTHENTICATED');
    const again = await firstStep(gangway);
    assert.equal(await again.fails(verify, { code: next }), 'UNAUTHENTICATED');
    assert.equal(await gangway.stranger().fails(verify, { code: next }), 'UNAUTHENTICATED');
  });

  it('lets one of two through that bring one recovery code at once, and no other after it', async () => {
    const code = recoveryCodes[0]?.toUpperCase();
    const clients = [await firstStep(gangway), await firstStep(gangway)];
    const given = { code, recoveryCode: true };
    const errors = await Promise.all(clients.map((client) => client.fails(verify, given)));
    assert.deepEqual(errors.sort(), ['UNAUTHENTICATED', undefined]);
    const late = await firstStep(gangway);
    assert.equal(await late.fails(verify, given), 'UNAUTHENTICATED');
    assert.equal(await late.fails(verify, { code: recoveryCodes[1] }), 'UNAUTHENTICATED');
    await late.must(verify, { code: recoveryCodes[1], recoveryCode: true });
  });

  it('remembers what was used over a restart, and forgets who was half signed in', async () => {
    const client = await firstStep(gangway);
    const code = await app.fresh();
    await client.must(verify, { code });
    const half = await firstStep(gangway);
    await gangway.restart();
    assert.equal(
      await half.fails(verify, { code: recoveryCodes[2], recoveryCode: true }),
      'UNAUTHENTICATED',
    );
    const later = await firstStep(gangway);
    assert.equal(await later.fails(verify, { code }), 'UNAUTHENTICATED');
    const old = { code: recoveryCodes[0], recoveryCode: true };
    assert.equal(await later.fails(verify, old), 'UNAUTHENTICATED');
    await later.must(verify, { code: recoveryCodes[2], recoveryCode: true });
  });

  it('is required with a while for the others, whom the answer names with their tokens', async () => {
    const { client } = gangway;
    const { createTeam } = await client.must<{ createTeam: { id: string } }>(
      'mutation { createTeam(name: "Late") { id } }',
    );
    const late = inTeam(createTeam.id);
    const roleId = await roleNamed(client, createTeam.id, 'Member');
    const bob = await join(gangway, createTeam.id, roleId, 'bob');
    const byToken = { authorization: `Bearer ${await bob.token({ capabilities: [] })}` };
    const requireIt = async (args: string, variables = {}): Promise<Required> => {
      const { updateTeam } = await client.must<{ updateTeam: Required }>(
        `mutation${args} { twoFactorGraceUntil
          withoutTwoFactor { member { email } tokens { name } } } }`,
        variables,
        late,
      );
      return updateTeam;
    };
    const daysLeft = ({ twoFactorGraceUntil }: Required): number =>
      Math.round((Date.parse(twoFactorGraceUntil ?? '') - Date.now()) / 86_400_000);
    const required = await requireIt(' { updateTeam(requireTwoFactor: true)');
    assert.equal(daysLeft(required), 7);
    assert.deepEqual(
      required.withoutTwoFactor.map(({ member, tokens }) => [member.email, tokens.length]),
      [[emailOf('bob'), 1]],
    );
    // The default is no wish: only who names days moves what is running.
    const named =
      '($days: Int = 2) { updateTeam(requireTwoFactor: true, twoFactorGraceDays: $days)';
    const absent = '($days: Int) { updateTeam(requireTwoFactor: true, twoFactorGraceDays: $days)';
    assert.equal(daysLeft(await requireIt(named)), 2);
    assert.equal(daysLeft(await requireIt(absent)), 2);
    assert.equal(daysLeft(await requireIt(absent, { days: null })), 2);
    await bob.must('{ apps { totalCount } }', {}, late);
    await bob.must('{ apps { totalCount } }', {}, byToken);
    const told = '{ viewerTeam { requireTwoFactor twoFactorGraceUntil } }';
    const { viewerTeam } = await bob.must<{ viewerTeam: Required }>(told, {}, byToken);
    assert.equal(daysLeft(viewerTeam), 2);
    assert.equal(
      await bob.fails('{ viewerTeam { withoutTwoFactor { member { email } } } }', {}, late),
      'FORBIDDEN',
    );
    assert.equal((await requireIt(absent, { days: 0 })).twoFactorGraceUntil, null);
    for (const headers of [late, byToken]) {
      assert.equal(await bob.fails('{ apps { totalCount } }', {}, headers), 'TWO_FACTOR_REQUIRED');
    }
    await enrol(bob, 'correct horse battery');
    await bob.must('{ apps { totalCount } }', {}, byToken);
    await client.must('mutation($id: ID!) { deleteTeam(id: $id) }', { id: createTeam.id });
  });

  it('may be required by a team, and then is what its people can still turn on', async () => {
    const { client } = gangway;
    const session = await client.must<{ mySessions: { id: string }[] }>('{ mySessions { id } }');
    assert.ok(session.mySessions.length > 1);
    await client.must(
      'mutation { updateTeam(requireTwoFactor: true, twoFactorGraceDays: 0) { id } }',
    );
    await client.must('{ apps { nodes { id } } }');
    await client.must(disable, { password: owner.password, code: recoveryCodes[3] });
    assert.equal(await client.fails('{ apps { nodes { id } } }'), 'TWO_FACTOR_REQUIRED');
    assert.equal(
      await client.fails(disable, { password: owner.password, code: '000000' }),
      'CONFLICT',
    );
    const { startTwoFactorEnrolment } = await client.must<{ startTwoFactorEnrolment: Enrolment }>(
      start,
      owner,
    );
    app = new AuthenticatorApp(startTwoFactorEnrolment.uri);
    ({ recoveryCodes } = startTwoFactorEnrolment);
    await client.must(confirm, { code: await app.fresh() });
    await client.must('{ apps { nodes { id } } }');
  });

  it('is out of reach for tokens', async () => {
    const authorization = `Bearer ${await gangway.client.token({ capabilities: ['view_logs'] })}`;
    const stranger = gangway.stranger();
    for (const [query, variables] of [
      [start, { password: owner.password }],
      [confirm, { code: '000000' }],
      [disable, { password: owner.password, code: '000000' }],
      ['{ mySessions { id } }', {}],
    ] as const) {
      assert.equal(await stranger.fails(query, variables, { authorization }), 'FORBIDDEN');
      assert.equal(await stranger.fails(query, variables), 'UNAUTHENTICATED');
    }
  });

  it('is not turned off by a password alone, and hears ten wrong codes at most', async () => {
    const { client } = gangway;
    const wrong = { password: 'not the password', code: recoveryCodes[0] };
    assert.equal(await client.fails(disable, wrong), 'FORBIDDEN');
    const given = { password: owner.password, code: app.wrong() };
    assert.equal(await client.fails(disable, given), 'FORBIDDEN');
    const half = await firstStep(gangway);
    const statuses: number[] = [];
    for (let i = 0; i < 10; i++) {
      const { status } = await half.graphql(verify, { code: app.wrong() });
      statuses.push(status);
    }
    assert.deepEqual(statuses, [...Array<number>(9).fill(200), 429]);
    const refused = await half.graphql(verify, { code: recoveryCodes[0], recoveryCode: true });
    assert.equal(refused.status, 429);
    assert.equal(refused.errors[0]?.extensions.code, 'RATE_LIMITED');
    assert.ok(Number(refused.headers.get('retry-after')) > 60);
  });
});
