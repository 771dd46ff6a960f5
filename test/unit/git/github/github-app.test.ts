import assert from 'node:assert/strict';
import { createPublicKey, generateKeyPairSync } from 'node:crypto';
import { describe, it } from 'node:test';
import { decodeProtectedHeader, jwtVerify } from 'jose';
import { appToken } from '../../../../src/git/github/app-token.ts';
import { GithubApi } from '../../../../src/git/github/github-api.ts';
import { InstallationTokens } from '../../../../src/git/github/installation-tokens.ts';
import { isOrg, manifestOf, manifestTarget } from '../../../../src/git/github/manifest.ts';
import { PendingConnects } from '../../../../src/git/github/pending-connects.ts';
import { apiRootOf, escapedName } from '../../../../src/git/providers/github-addresses.ts';
import { ManualClock } from '../../../support/manual-clock.ts';

const minuteMs = 60_000;

describe('a GitHub App', () => {
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const pem = privateKey.export({ type: 'pkcs1', format: 'pem' }).toString();

  it('says who it is by a JWT that GitHub takes', async () => {
    const nowMs = Date.now();
    const jwt = await appToken(4711, pem, nowMs);
    assert.equal(decodeProtectedHeader(jwt).alg, 'RS256');
    const { payload } = await jwtVerify(jwt, createPublicKey(privateKey), { issuer: '4711' });
    const nowS = Math.floor(nowMs / 1000);
    assert.deepEqual([payload.iat, payload.exp], [nowS - 60, nowS + 540]);
  });

  it('is asked about where its GitHub has its API', () => {
    assert.equal(apiRootOf('https://github.com'), 'https://api.github.com');
    assert.equal(apiRootOf('https://acme.ghe.com'), 'https://api.acme.ghe.com');
    assert.equal(apiRootOf('https://git.example:8443'), 'https://git.example:8443/api/v3');
    assert.equal(escapedName('acme/a?b'), 'acme/a%3Fb');
    for (const name of ['acme/../app', 'acme', 'a/-x', 'a/b\n']) {
      assert.throws(() => escapedName(name), { code: 'BAD_USER_INPUT' }, name);
    }
  });

  it('is made by a manifest that asks for little, by oneself or in an organization', () => {
    const target = 'https://github.com/settings/apps/new?state=s';
    assert.equal(manifestTarget('https://github.com', null, 's'), target);
    const ofOrg = 'https://github.com/organizations/acme/settings/apps/new?state=s';
    assert.equal(manifestTarget('https://github.com', 'acme', 's'), ofOrg);
    for (const name of ['', 'a/b', '-a', 'a--b', 'a-', 'a?b', 'x'.repeat(40), '../x']) {
      assert.ok(!isOrg(name), name);
    }
    assert.ok(isOrg('Acme-2'));
    const manifest = JSON.parse(manifestOf('https://panel.example', 'x'.repeat(60))) as {
      name: string;
    };
    assert.ok(manifest.name.length <= 34);
    assert.deepEqual(manifest, {
      name: manifest.name,
      url: 'https://panel.example',
      hook_attributes: { url: 'https://panel.example/api/github/webhook', active: true },
      redirect_url: 'https://panel.example/api/github/callback',
      setup_url: 'https://panel.example/api/github/setup',
      setup_on_update: true,
      public: false,
      default_permissions: { contents: 'read', metadata: 'read', statuses: 'write' },
      default_events: ['push'],
    });
  });

  it('is none where GitHub says less, or leads elsewhere', async () => {
    const whole = {
      ...{ id: 1, owner: { login: 'acme' }, html_url: 'https://git.example/apps/a' },
      ...{ webhook_secret: 'secret', pem },
    };
    const converted = (more: object) => {
      const answer = () => Promise.resolve({ ...whole, ...more });
      return new GithubApi({ json: answer, post: answer }, 'https://git.example').convert('code');
    };
    assert.equal((await converted({})).appId, 1);
    const other = generateKeyPairSync('ed25519').privateKey;
    for (const more of [
      { id: '1' },
      { id: 0 },
      { owner: null },
      { webhook_secret: null },
      { pem: 'none' },
      { pem: other.export({ type: 'pkcs8', format: 'pem' }) },
      { html_url: 'https://git.example.evil/apps/a' },
      { html_url: 'javascript:alert(1)' },
    ]) {
      await assert.rejects(converted(more), { code: 'GIT_PROVIDER_FAILED' }, JSON.stringify(more));
    }
  });
});

describe('tokens of installations', () => {
  const clock = new ManualClock();
  const tokens = new InstallationTokens(clock);
  let asked = 0;
  const ask = () => {
    asked += 1;
    const token = `token-${String(asked)}`;
    return Promise.resolve({ token, expiresAtMs: clock.now() + 60 * minuteMs });
  };

  it('are asked for once, until shortly before they end', async () => {
    const get = (installation = 7) => tokens.get('gc_1', installation, ask);
    assert.deepEqual(await Promise.all([get(), get(), get(8)]), ['token-1', 'token-1', 'token-2']);
    await clock.advance(55 * minuteMs - 1);
    assert.equal(await get(), 'token-1');
    await clock.advance(1);
    assert.deepEqual(await Promise.all([get(), get()]), ['token-3', 'token-3']);
    tokens.forget('gc_2');
    assert.equal(await get(), 'token-3');
    tokens.forget('gc_1');
    assert.equal(await get(), 'token-4');
  });

  it('that could not be had are asked for again', async () => {
    const failing = tokens.get('gc_3', 1, () => Promise.reject(new Error('no')));
    await assert.rejects(failing, /no/);
    assert.match(await tokens.get('gc_3', 1, ask), /^token-/);
  });
});

describe('connections to GitHub that were begun', () => {
  it('are finished once, in their session, within ten minutes', async () => {
    const clock = new ManualClock();
    const pending = new PendingConnects(clock);
    const state = pending.begin('ses_1', 'team_1');
    assert.match(state, /^[\w-]{43}$/);
    assert.equal(pending.take(state, 'ses_2'), null);
    assert.equal(pending.take('', 'ses_1'), null);
    assert.equal(pending.take(state, 'ses_1'), 'team_1');
    assert.equal(pending.take(state, 'ses_1'), null);
    const late = pending.begin('ses_1', 'team_1');
    await clock.advance(10 * minuteMs - 1);
    const fresh = pending.begin('ses_1', 'team_2');
    await clock.advance(1);
    assert.equal(pending.take(late, 'ses_1'), null);
    assert.equal(pending.take(fresh, 'ses_1'), 'team_2');
  });

  it('are forgotten where there are too many, the oldest first', () => {
    const pending = new PendingConnects(new ManualClock());
    const first = pending.begin('ses_1', 'team_1');
    const states = Array.from({ length: 10_000 }, () => pending.begin('ses_1', 'team_1'));
    assert.equal(pending.take(first, 'ses_1'), null);
    assert.equal(pending.take(states[0] ?? '', 'ses_1'), 'team_1');
  });
});
