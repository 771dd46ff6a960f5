import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, it } from 'node:test';
import type { Accounts } from '../../../../src/auth/sign-in/accounts.ts';
import type { AskingTeam, User } from '../../../../src/auth/callers/account-reads.ts';
import type { Authenticator } from '../../../../src/auth/callers/authenticator.ts';
import { anonymous } from '../../../../src/auth/callers/principal.ts';
import { Callers } from '../../../../src/gateway/credentials.ts';
import { loginRoutes } from '../../../../src/gateway/transports/login.ts';
import { ServiceError } from '../../../../src/lib/errors.ts';
import { startGateway } from '../../../support/gateway.ts';
import type { TestGateway } from '../../../support/gateway.ts';

const cookie = 'service.session_token=ann';
const ann: User = {
  id: 'usr_ann',
  email: 'ann@example.com',
  name: 'Ann <3',
  isInstanceAdmin: true,
  twoFactorEnabled: false,
};
const authenticator: Authenticator = {
  byCookie: ({ cookieHeader }) =>
    cookieHeader === cookie
      ? { kind: 'person', userId: 'usr_ann', sessionId: 'ses_ann', teamId: null }
      : anonymous,
  byToken: () => {
    throw new ServiceError('UNAUTHENTICATED', 'No such token.');
  },
  stillValid: () => true,
};

let gateway: TestGateway;
let asking: AskingTeam[] = [];
let needsSetup = false;
let refusal: Error | null = null;
let calls: unknown[] = [];
const accounts = {
  login(input: unknown) {
    calls.push(['login', input]);
    if (refusal) return Promise.reject(refusal);
    return Promise.resolve({ user: ann, requiresTwoFactor: false, cookies: [`${cookie}; Path=/`] });
  },
  logout(principal: { kind: string }) {
    calls.push(['logout', principal.kind]);
    return Promise.resolve(['service.session_token=; Max-Age=0; Path=/']);
  },
} as unknown as Accounts;

before(async () => {
  gateway = await startGateway(
    loginRoutes({
      accounts: () => Promise.resolve(accounts),
      accountReads: {
        user: (id) => (id === ann.id ? ann : undefined),
        askingTwoFactor: (id) => (id === ann.id ? asking : []),
      },
      needsSetup: () => needsSetup,
      callers: new Callers({
        authenticator,
        publicUrl: () => ({ url: 'https://panel.example.com', configured: true }),
      }),
    }),
  );
});
after(() => gateway.close());
beforeEach(() => {
  asking = [];
  needsSetup = false;
  refusal = null;
  calls = [];
});

function get(path: string, headers: Record<string, string> = {}): Promise<Response> {
  return fetch(`${gateway.url}${path}`, { redirect: 'manual', headers });
}

function post(
  path: string,
  form: Record<string, string> = {},
  headers: Record<string, string> = {},
): Promise<Response> {
  const body = new URLSearchParams(form);
  return fetch(`${gateway.url}${path}`, { method: 'POST', redirect: 'manual', headers, body });
}

async function leadsTo(answering: Promise<Response>, location: string): Promise<Response> {
  const answer = await answering;
  assert.deepEqual([answer.status, answer.headers.get('location')], [303, location]);
  return answer;
}

describe('GET /login', () => {
  it('shows a form to who is nobody yet', async () => {
    const page = await get('/login');
    assert.equal(page.status, 200);
    const text = await page.text();
    assert.match(text, /<form method="post" action="\/login">/);
    assert.match(text, /autocomplete="current-password"/);
    assert.match(text, /name="next" value="\/"/);
  });

  it('carries a path of this site on, and nothing else', async () => {
    const nextOf = async (path: string): Promise<string | undefined> =>
      /name="next" value="([^"]*)"/.exec(await (await get(path)).text())?.[1];
    assert.equal(await nextOf('/login?next=/apps%3Fa=1'), '/apps?a=1');
    assert.equal(await nextOf('/login?next=//evil.example'), '/');
    assert.equal(await nextOf('/login?next=https://evil.example'), '/');
    assert.equal(await nextOf('/login?next=/%22%3E%3Cscript%3E'), '/%22%3E%3Cscript%3E');
  });

  it('shows who is signed in, with a way on and a way out', async () => {
    const text = await (await get('/login?next=/apps', { cookie })).text();
    assert.match(text, /<b>Ann &#60;3<\/b>, ann@example\.com/);
    assert.match(text, /<a href="\/apps">/);
    assert.match(text, /<a href="\/connect" class="plain">/);
    assert.match(text, /<form method="post" action="\/logout">/);
    assert.doesNotMatch(text, /type="password"/);
  });

  it('leads to setup on an empty instance', async () => {
    needsSetup = true;
    await leadsTo(get('/login'), '/setup');
  });
});

describe('POST /login', () => {
  const right = { email: 'ann@example.com', password: 'correct horse' };

  it('sets the cookie and leads on', async () => {
    const answer = await leadsTo(post('/login', right), '/');
    assert.deepEqual(answer.headers.getSetCookie(), [`${cookie}; Path=/`]);
    assert.deepEqual(calls, [['login', right]]);
    asking = [{ name: 'Home', graceUntilMs: 1 }];
    const further = '/account/two-factor?next=%2Fapps%3Fa%3D1';
    await leadsTo(post('/login', { ...right, next: '/apps?a=1' }), further);
    await leadsTo(post('/login', { ...right, next: further }), further);
    asking = [];
    await leadsTo(post('/login', { ...right, next: '/apps' }), '/apps');
  });

  it('leads nowhere else', async () => {
    for (const next of ['//evil.example', '/\\evil.example', 'https://evil.example', '/.//evil']) {
      await leadsTo(post('/login', { ...right, next }), '/');
    }
  });

  it('shows a refusal with its status, the address that was typed and no password', async () => {
    refusal = new ServiceError('UNAUTHENTICATED', 'The address or the password is wrong.');
    const answer = await post('/login', { ...right, next: '/apps' });
    assert.equal(answer.status, 401);
    const text = await answer.text();
    assert.match(text, /<p role="alert">The address or the password is wrong\.<\/p>/);
    assert.match(text, /value="ann@example\.com"/);
    assert.match(text, /name="next" value="\/apps"/);
    assert.ok(!text.includes(right.password));
    assert.deepEqual(answer.headers.getSetCookie(), []);
  });

  it('says how long to wait where a limit was reached', async () => {
    for (const [retryAfterS, said] of [
      [840, '14 minutes'],
      [90, '90 seconds'],
      [1, 'a second'],
    ] as const) {
      refusal = new ServiceError('RATE_LIMITED', 'Too many.', { retryAfterS });
      const answer = await post('/login', right);
      assert.equal(answer.status, 429);
      assert.equal(answer.headers.get('retry-after'), String(retryAfterS));
      assert.ok((await answer.text()).includes(`Too many. Wait ${said}.</p>`));
    }
    refusal = new ServiceError('OVERLOADED', 'Too many attempts at once.');
    assert.equal((await post('/login', right)).status, 503);
  });

  it('says nothing of a bug', async () => {
    refusal = new Error('the secret of the bug');
    const answer = await post('/login', right);
    assert.equal(answer.status, 500);
    assert.ok(!(await answer.text()).includes('secret'));
  });

  it('takes no form that another site sent, and nothing that is no form', async () => {
    const sent: Record<string, string>[] = [
      { 'sec-fetch-site': 'cross-site' },
      { 'sec-fetch-site': 'same-site' },
      { origin: 'https://evil.example' },
      { origin: 'null' },
    ];
    for (const headers of sent) {
      assert.equal((await post('/login', right, headers)).status, 403);
    }
    const json = { 'content-type': 'application/json' };
    assert.equal((await post('/login', right, json)).status, 415);
    assert.equal((await post('/login', { ...right, email: 'a'.repeat(20_000) })).status, 413);
    assert.deepEqual(calls, []);
    await leadsTo(post('/login', right, { origin: 'https://panel.example.com' }), '/');
    await leadsTo(post('/login', right, { 'sec-fetch-site': 'same-origin' }), '/');
  });
});

describe('POST /logout', () => {
  it('ends the session, removes the cookie and leads to signing in', async () => {
    const answer = await leadsTo(post('/logout', {}, { cookie }), '/login');
    assert.deepEqual(answer.headers.getSetCookie(), ['service.session_token=; Max-Age=0; Path=/']);
    assert.deepEqual(calls, [['logout', 'person']]);
  });

  it('removes a cookie that is good for nothing any more', async () => {
    await leadsTo(post('/logout', {}, { cookie: 'service.session_token=stale' }), '/login');
    assert.deepEqual(calls, [['logout', 'anonymous']]);
  });

  it('is nothing that another site, or a link, can do', async () => {
    const answer = await post('/logout', {}, { cookie, 'sec-fetch-site': 'cross-site' });
    assert.equal(answer.status, 403);
    const { status, headers } = await get('/logout', { cookie });
    assert.deepEqual([status, headers.get('allow')], [405, 'POST']);
    assert.deepEqual(calls, []);
  });
});
