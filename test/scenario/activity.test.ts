import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { Gangway } from '../support/gangway.ts';
import { archiveOf, owner } from '../support/gangway-client.ts';
import type { Client } from '../support/gangway-client.ts';
import * as oauth from '../support/oauth.ts';

interface Entry {
  id: string;
  at: string;
  actor: string;
  action: string;
  target: string | null;
  details: Record<string, unknown> | null;
}

interface Page {
  nodes: Entry[];
  pageInfo: { endCursor: string | null; hasNextPage: boolean };
}

const query = `query($first: Int, $after: String) { activity(first: $first, after: $after) {
  nodes { id at actor action target details } pageInfo { endCursor hasNextPage } } }`;
const me = `person:Me ${owner.email}`;
const site = archiveOf({ 'index.html': '<h1>Here</h1>' });

describe('the activity of a team', () => {
  let gangway: Gangway;
  let client: Client;

  before(async () => {
    gangway = await Gangway.open();
    client = gangway.client;
  });
  after(() => gangway.end());

  async function page(first?: number, cursor?: string | null): Promise<Page> {
    const { activity } = await client.must<{ activity: Page }>(query, { first, after: cursor });
    return activity;
  }

  async function latest(): Promise<Entry> {
    const { nodes } = await page(1);
    assert.ok(nodes[0]);
    return nodes[0];
  }

  it('starts with the setup, by the person who did it, from their address', async () => {
    const { nodes } = await page();
    const setup = nodes.find(({ action }) => action === 'completeSetup');
    assert.equal(setup?.actor, me);
    assert.match(setup.target ?? '', /^team:team_\w+ Home$/);
    assert.equal(setup.details?.['address'], '127.0.0.1');
    assert.ok(!Number.isNaN(Date.parse(setup.at)));
  });

  it('tells each change once: who, what and on which', async () => {
    const app = await client.createApp('Shop');
    const made = await latest();
    assert.deepEqual(
      [made.actor, made.action, made.target],
      [me, 'createApp', `app:${app.id} Shop`],
    );
    assert.deepEqual(made.details?.['input'], { input: { name: 'Shop', source: 'UPLOAD' } });
    await client.must('mutation($id: ID!) { updateApp(id: $id, name: "Store") { name } }', {
      id: app.id,
    });
    const { nodes } = await page(2);
    assert.deepEqual(
      nodes.map(({ action, target }) => [action, target]),
      [
        ['updateApp', `app:${app.id} Shop`],
        ['createApp', `app:${app.id} Shop`],
      ],
    );
  });

  it('tells where a change came from whose answer is a stream', async () => {
    const { text } = await client.ask('/api/graphql', {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        accept: 'text/event-stream',
        'user-agent': 'streamer',
      },
      body: JSON.stringify({
        query: 'mutation { createApp(input: { name: "Streamed", source: UPLOAD }) { id } }',
      }),
    });
    assert.match(text, /event: next\ndata: \{"data":\{"createApp"/);
    const { details } = await latest();
    assert.equal(details?.['address'], '127.0.0.1');
    assert.equal(details['userAgent'], 'streamer');
  });

  it('never holds a value of a variable, a password, or the text of a token', async () => {
    const app = await client.createApp('Secrets');
    const entries = [{ key: 'API_KEY', value: 'very-secret-value' }];
    await client.must(
      'mutation($id: ID!, $entries: [EnvEntryInput!]!) { upsertEnv(appId: $id, entries: $entries) { key } }',
      { id: app.id, entries },
    );
    const set = await latest();
    assert.equal(set.action, 'upsertEnv');
    assert.match(JSON.stringify(set.details), /API_KEY/);
    const secret = await client.token({ capabilities: ['deploy_apps'] });
    const text = JSON.stringify((await page()).nodes);
    for (const hidden of ['very-secret-value', owner.password, secret]) {
      assert.ok(!text.includes(hidden), hidden);
    }
  });

  it('tells who looked at a secret, although nothing changed', async () => {
    const app = await client.createApp('Looked at');
    await client.hookPath(app.id);
    const seen = await latest();
    assert.deepEqual(
      [seen.action, seen.target],
      ['revealAppDeployHook', `app:${app.id} Looked at`],
    );
  });

  it('tells uploads, and deploy hooks with the token that called, also when that is gone', async () => {
    const app = await client.createApp('Hooked');
    await client.mustUpload(app.id, site);
    const uploaded = await latest();
    assert.deepEqual(
      [uploaded.actor, uploaded.action, uploaded.target],
      [me, 'upload', `app:${app.id} Hooked`],
    );
    const source = await client.ask(`/api/apps/${app.id}/source`);
    assert.equal(source.status, 200);
    const read = await latest();
    assert.deepEqual([read.actor, read.action, read.target], [me, 'read_source', uploaded.target]);
    const secret = await client.token({ name: 'robot', capabilities: ['deploy_apps'] });
    const path = await client.hookPath(app.id);
    const hooked = await client.ask(path, {
      method: 'POST',
      headers: { authorization: `Bearer ${secret}`, cookie: '' },
    });
    assert.equal(hooked.status, 200, hooked.text);
    const { apiTokens } = await client.must<{ apiTokens: { id: string; name: string }[] }>(
      '{ apiTokens { id name } }',
    );
    const robot = apiTokens.find(({ name }) => name === 'robot');
    await client.must('mutation($id: ID!) { revokeToken(id: $id) }', { id: robot?.id });
    const { nodes } = await page(2);
    assert.deepEqual(
      nodes.map(({ action }) => action),
      ['revokeToken', 'deploy_hook'],
    );
    assert.equal(nodes[0]?.target, `token:${robot?.id ?? ''} robot`);
    assert.equal(nodes[1]?.actor, `token:robot ${secret.slice(0, 8)} of ${owner.email}`);
    assert.equal(nodes[1].target, `app:${app.id} Hooked`);
    assert.equal(nodes[1].details?.['tokenId'], robot?.id);
  });

  it('tells sign-ins that worked, and a few of those that failed', async () => {
    await gangway.signIn();
    const signedIn = await latest();
    assert.deepEqual([signedIn.actor, signedIn.action], [me, 'login']);
    const before = (await page(100)).nodes.length;
    const wrong =
      'mutation { login(email: "me@example.com", password: "wrong wrong wrong") { requiresTwoFactor } }';
    for (let i = 0; i < 8; i++) await gangway.stranger().fails(wrong);
    await gangway
      .stranger()
      .fails(
        'mutation { login(email: "nobody@example.com", password: "wrong wrong wrong") { requiresTwoFactor } }',
      );
    const { nodes } = await page(100);
    const failed = nodes.filter(({ action }) => action === 'login_failed');
    assert.ok(failed.length >= 1 && failed.length <= 5, String(failed.length));
    assert.equal(nodes.length, before + failed.length);
    assert.equal(failed[0]?.actor, 'nobody');
    assert.match(failed[0].target ?? '', /^person:\S+ Me me@example\.com$/);
  });

  it('tells what is done to people, also by those who only just join', async () => {
    const { roles } = await client.must<{ roles: { id: string; name: string }[] }>(
      '{ roles { id name } }',
    );
    const role = (name: string): string | undefined => roles.find((one) => one.name === name)?.id;
    const { inviteMember } = await client.must<{ inviteMember: string }>(
      'mutation($roleId: ID!) { inviteMember(email: "bea@example.com", roleId: $roleId) }',
      { roleId: role('Viewer') },
    );
    const invited = await latest();
    assert.deepEqual([invited.actor, invited.action], [me, 'inviteMember']);
    assert.match(JSON.stringify(invited.details), /bea@example\.com/);
    const token = new URL(inviteMember).pathname.split('/').at(-1) ?? '';
    assert.ok(!JSON.stringify(invited).includes(token));
    const bea = gangway.stranger();
    await bea.must(
      `mutation($token: String!) {
        acceptInvite(token: $token, name: "Bea", password: "correct horse battery") { viewer { id } }
      }`,
      { token },
    );
    const joined = await latest();
    assert.deepEqual([joined.actor, joined.action], ['person:Bea bea@example.com', 'acceptInvite']);
    await bea.must(
      `mutation { changePassword(currentPassword: "correct horse battery",
        newPassword: "another horse battery") }`,
    );
    const changed = await latest();
    assert.deepEqual([changed.actor, changed.action], [joined.actor, 'changePassword']);
    const userId = joined.details?.['userId'];
    await client.must('mutation($userId: ID!) { removeMember(userId: $userId) }', { userId });
    const removed = await latest();
    assert.deepEqual(
      [removed.actor, removed.action, removed.target],
      [me, 'removeMember', `person:${String(userId)} Bea bea@example.com`],
    );
    const text = JSON.stringify((await page(500)).nodes);
    assert.ok(!text.includes('horse battery'));
    assert.ok(!text.includes(token));
  });

  it('tells the OAuth client that acts for a person, and the consent it has that by', async () => {
    const clientId = (await oauth.register(gangway.url)).body.client_id;
    const scope = { scope: 'offline_access create_apps' };
    const { redeem } = await oauth.authorized(client, clientId, scope);
    const consented = await latest();
    assert.deepEqual([consented.actor, consented.action], [me, 'oauth_consent']);
    const { access_token: token } = await oauth.tokensOf(redeem());
    await gangway
      .stranger()
      .must(
        'mutation { createApp(input: { name: "By a client", source: UPLOAD }) { id } }',
        {},
        { authorization: `Bearer ${token}` },
      );
    const made = await latest();
    assert.deepEqual([made.actor, made.action], [`client:A client of ${owner.email}`, 'createApp']);
    assert.ok(!JSON.stringify((await page(500)).nodes).includes(token));
  });

  it('records nothing for what was refused', async () => {
    const { id } = await latest();
    const refused = 'mutation { createApp(input: { name: "", source: UPLOAD }) { id } }';
    assert.equal(await client.fails(refused), 'BAD_USER_INPUT');
    assert.equal(await client.fails('mutation { revokeToken(id: "tok_none") }'), 'NOT_FOUND');
    assert.equal((await latest()).id, id);
  });

  it('is paged from the newest to the oldest, by cursors of its own', async () => {
    const all = (await page(100)).nodes.map(({ id }) => id);
    const paged: string[] = [];
    let cursor: string | null = null;
    do {
      const { nodes, pageInfo }: Page = await page(4, cursor);
      paged.push(...nodes.map(({ id }) => id));
      cursor = pageInfo.hasNextPage ? pageInfo.endCursor : null;
    } while (cursor !== null);
    assert.deepEqual(paged, all);
    assert.deepEqual([...all].sort().reverse(), all);
    assert.equal(await client.fails(query, { first: -1 }), 'BAD_USER_INPUT');
    assert.equal(await client.fails(query, { first: 501 }), 'BAD_USER_INPUT');
    assert.equal(await client.fails(query, { after: 'bm8' }), 'BAD_USER_INPUT');
  });

  it('is for who holds view_activity over the team', async () => {
    const stranger = gangway.stranger();
    assert.equal(await stranger.fails(query), 'UNAUTHENTICATED');
    const narrow = await client.token({ capabilities: ['deploy_apps'] });
    const bearer = (secret: string) => ({ authorization: `Bearer ${secret}` });
    assert.equal(await stranger.fails(query, {}, bearer(narrow)), 'FORBIDDEN');
    const reader = await client.token({ capabilities: ['view_activity'] });
    const { activity } = await stranger.must<{ activity: Page }>(query, {}, bearer(reader));
    assert.ok(activity.nodes.length > 0);
  });

  it('is there after a crash, with every change that was answered', async () => {
    const app = await client.createApp('Durable');
    await gangway.restart();
    const entry = await latest();
    assert.deepEqual([entry.action, entry.target], ['createApp', `app:${app.id} Durable`]);
  });
});
