import assert from 'node:assert/strict';
import { after, afterEach, before, beforeEach, describe, it } from 'node:test';
import { gitDefinition } from '../../../../src/actors/git/actor.ts';
import { openGitSecrets } from '../../../../src/actors/git/connection.ts';
import { GithubConnections } from '../../../../src/actors/git/github-connections.ts';
import { GithubConnects } from '../../../../src/actors/git/github-connects.ts';
import { repositoryLists } from '../../../../src/actors/git/repository-lists.ts';
import type { Authenticator } from '../../../../src/auth/callers/authenticator.ts';
import { anonymous } from '../../../../src/auth/callers/principal.ts';
import { Callers } from '../../../../src/gateway/credentials.ts';
import { githubConnectRoutes } from '../../../../src/gateway/transports/github-connect.ts';
import { systemClock } from '../../../../src/lib/clock.ts';
import type { GitConnectionRecord } from '../../../../src/store/records/records.ts';
import { tables } from '../../../../src/store/records/tables.ts';
import { AccountsFixture } from '../../../support/accounts-fixture.ts';
import { loopbackFetch } from '../../../support/bucket.ts';
import { startGateway, type TestGateway } from '../../../support/gateway.ts';
import { GithubServer } from '../../../support/github-server.ts';
import { plainSecrets } from '../../../support/plain-secrets.ts';
import { recordingLogger } from '../../../support/silent-logger.ts';

/** A cookie says who it is: `usr_owner`. */
const authenticator: Authenticator = {
  byCookie: ({ cookieHeader: userId }) =>
    userId.startsWith('usr_')
      ? { kind: 'person', userId, sessionId: `ses_${userId}`, teamId: null }
      : anonymous,
  byToken: () => ({ kind: 'token', userId: 'usr_owner', tokenId: 'tok_1', teamId: 'home' }),
  stillValid: () => true,
};
const code = 'code-of-the-app';

describe('the way of a team to GitHub', () => {
  const server = new GithubServer();
  let accounts: AccountsFixture;
  let gateway: TestGateway;
  let connects: GithubConnects;
  let github: GithubConnections;
  before(() => server.open());
  after(() => server.close());
  beforeEach(async () => {
    accounts = new AccountsFixture();
    for (const id of ['owner', 'git', 'viewer']) accounts.addUser(`usr_${id}`);
    accounts.addTeam('home', 'usr_owner');
    accounts.addMember('home', 'usr_git', ['manage_git']);
    accounts.addMember('home', 'usr_viewer', 'viewer');
    const { store: reader, runtime: actors } = accounts;
    // What GitHub says ends by the real time.
    const common = { reader, clock: systemClock, secrets: plainSecrets, fetch: loopbackFetch };
    const webhookKey = 'ab'.repeat(32);
    actors.register(gitDefinition({ ...common, logger: recordingLogger(), webhookKey }));
    github = new GithubConnections(common);
    const publicUrl = () => 'https://panel.example.com';
    connects = new GithubConnects({ ...common, actors, githubUrl: server.url, publicUrl });
    const callers = new Callers({
      authenticator,
      publicUrl: () => ({ url: publicUrl(), configured: true }),
    });
    gateway = await startGateway(githubConnectRoutes({ reader, callers, connects, github }));
    server.codes.add(code);
    server.installations.set(77, 'acme');
    server.calls.length = 0;
    server.fault = null;
  });
  afterEach(async () => {
    await gateway.close();
    await accounts.close();
  });

  const get = async (path: string, cookie = '', headers = {}) => {
    const answer = await fetch(`${gateway.url}/api/github/${path}`, {
      headers: { cookie, ...headers },
      redirect: 'manual',
    });
    const text = await answer.text();
    return { status: answer.status, text, location: answer.headers.get('location') };
  };
  const back = (state: string, cookie = 'usr_git', given = code) =>
    get(`callback?code=${given}&state=${state}`, cookie);
  const begun = (who = 'usr_git'): string => connects.start(`ses_${who}`, 'home', null).state;
  const connections = (): Readonly<GitConnectionRecord>[] =>
    accounts.store.list(tables.gitConnections, 'team', ['home']);
  const connected = async (): Promise<Readonly<GitConnectionRecord>> => {
    await back(begun());
    const [connection] = connections();
    assert.ok(connection);
    return connection;
  };

  it('begins with a manifest, for oneself or an organization', () => {
    const { actionUrl, manifest, state } = connects.start('ses_1', 'home', ' acme ');
    const target = `${server.url}/organizations/acme/settings/apps/new?state=${state}`;
    assert.equal(actionUrl, target);
    assert.match(manifest, /"redirect_url":"https:\/\/panel\.example\.com\/api\/github\/callback"/);
    assert.throws(() => connects.start('ses_1', 'home', 'a/b'), { code: 'BAD_USER_INPUT' });
  });

  it('makes a connection of the App, whose secrets are sealed, and leads on to install it', async () => {
    const answer = await back(begun());
    const installAt = `${server.url}/github-apps/gangway-home/installations/new`;
    assert.deepEqual([answer.status, answer.location], [303, installAt]);
    const [made, ...others] = connections();
    assert.ok(made?.github);
    assert.deepEqual(others, []);
    const { provider, label, baseUrl, tokenSealed } = made;
    assert.deepEqual([provider, label, baseUrl], ['github', 'acme', server.url]);
    assert.deepEqual([made.github.appId, tokenSealed], [server.appId, null]);
    const text = (sealed: Uint8Array | null): string => Buffer.from(sealed ?? []).toString();
    assert.equal(text(made.github.keySealed), `github-app-key:${made.id}|${server.privateKey}`);
    const secrets = openGitSecrets(plainSecrets, made);
    assert.deepEqual(secrets, [server.webhookSecret, server.privateKey]);
  });

  it('takes a state once, from its session, and a code that GitHub knows', async () => {
    const state = begun();
    assert.equal((await back(state, 'usr_owner')).status, 400);
    assert.equal((await back(state, '')).status, 401);
    assert.equal((await get(`callback?code=${code}`, 'usr_git')).status, 400);
    assert.equal((await back(state)).status, 303);
    server.codes.add(code);
    assert.equal((await back(state)).status, 400);
    assert.equal((await back(begun(), 'usr_git', '..%2Fapp')).status, 400);
    const unknown = await back(begun(), 'usr_git', 'unknown');
    assert.equal(unknown.status, 502);
    assert.match(unknown.text, /status 404/);
    assert.equal(connections().length, 1);
    assert.deepEqual(
      server.calls,
      [code, 'unknown'].map((one) => `POST /app-manifests/${one}/conversions`),
    );
  });

  it('is for those who may manage git, when it ends too, and for no token', async () => {
    assert.equal((await back(begun('usr_viewer'), 'usr_viewer')).status, 403);
    for (const path of ['callback', 'setup']) {
      assert.equal((await get(path, '', { authorization: 'Bearer x' })).status, 403);
    }
    assert.deepEqual([connections(), server.calls], [[], []]);
  });

  it('tells where the App is installed, as GitHub itself says', async () => {
    await connected();
    const told = await get('setup?installation_id=77&setup_action=install', 'usr_git');
    assert.equal(told.status, 200);
    assert.match(told.text, /installed on <b>acme<\/b>/);
    for (const id of ['78', '77x', '', '-1', '9'.repeat(30)]) {
      assert.equal((await get(`setup?installation_id=${id}`, 'usr_git')).status, 404, id);
    }
    assert.equal((await get('setup?installation_id=77', 'usr_viewer')).status, 404);
    const { status, location } = await get('setup?installation_id=77');
    assert.equal(status, 303);
    assert.match(location ?? '', /^\/login\?next=/);
    const asked = await get('setup?setup_action=request', 'usr_git');
    assert.match(asked.text, /has to approve/);
  });

  it('lists the repositories that the installations reach, over all pages', async () => {
    const { id } = await connected();
    const { store: reader } = accounts;
    const lists = repositoryLists({ reader, secrets: plainSecrets, fetch: loopbackFetch, github });
    server.repositories = Array.from({ length: 250 }, (_, i) => ({
      ...{ full_name: `acme/shop-${String(i)}`, default_branch: 'trunk', private: i % 2 === 0 },
    }));
    assert.equal((await lists(id, '')).length, 100);
    assert.deepEqual(await lists(id, 'SHOP-249'), [
      { fullName: 'acme/shop-249', defaultBranch: 'trunk', private: false },
    ]);
    const before = server.issued;
    server.revokeTokens();
    await assert.rejects(lists(id, 'shop'), { code: 'GIT_PROVIDER_FAILED' });
    assert.equal((await lists(id, 'shop-1')).length, 100);
    assert.equal(server.issued, before + 1);
  });

  it('gets one token for all who ask, of the installation on the owner', async () => {
    const connection = await connected();
    const before = server.issued;
    const all = await Promise.all([1, 2, 3].map(() => github.token(connection, 'acme/shop')));
    assert.equal(new Set(all).size, 1);
    assert.equal(server.issued, before + 1);
    const elsewhere = github.token(connection, 'other/shop');
    await assert.rejects(elsewhere, /The GitHub App is not installed on other\/shop/);
  });
});
