import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { Client } from '../support/gangway-client.ts';
import { Gangway, until } from '../support/gangway.ts';

const password = 'correct horse battery';
const accept = `mutation($token: String!, $name: String, $password: String) {
  acceptInvite(token: $token, name: $name, password: $password) { viewer { id email } } }`;
const inviting =
  'mutation($email: String!, $roleId: ID!) { inviteMember(email: $email, roleId: $roleId) }';
const updating =
  'mutation($userId: ID!, $roleId: ID!) { updateMember(userId: $userId, roleId: $roleId) { userId role { name } } }';
const removing = 'mutation($userId: ID!) { removeMember(userId: $userId) }';
const makingRole =
  'mutation($name: String!, $capabilities: [Capability!]!) { createRole(name: $name, capabilities: $capabilities) { id name capabilities builtIn } }';
const changingRole =
  'mutation($id: ID!, $name: String, $capabilities: [Capability!]) { updateRole(id: $id, name: $name, capabilities: $capabilities) { id name capabilities } }';
const deletingTeam = 'mutation($id: ID!) { deleteTeam(id: $id) }';

interface Role {
  id: string;
  name: string;
  capabilities: string[];
}

describe('teams and their people', () => {
  let gangway: Gangway;
  let ann: Client;
  let roles: Record<string, string>;
  let annId: string;
  let homeId: string;

  before(async () => {
    gangway = await Gangway.open();
    ann = gangway.client;
    const found = await ann.must<{
      roles: Role[];
      me: { id: string };
      viewerTeam: { id: string };
    }>('{ roles { id name } me { id } viewerTeam { id } }');
    roles = Object.fromEntries(found.roles.map(({ name, id }) => [name, id]));
    annId = found.me.id;
    homeId = found.viewerTeam.id;
  });
  after(() => gangway.end());

  async function inviteToken(by: Client, email: string, roleId: string): Promise<string> {
    const { inviteMember } = await by.must<{ inviteMember: string }>(inviting, { email, roleId });
    assert.ok(inviteMember.startsWith(`${gangway.url}/invite/`), inviteMember);
    return inviteMember.slice(inviteMember.lastIndexOf('/') + 1);
  }

  /** A new person in the acting team of `by`. */
  async function newcomer(
    name: string,
    roleId: string,
    by = ann,
  ): Promise<{ client: Client; userId: string; email: string }> {
    const email = `${name}@example.org`;
    const token = await inviteToken(by, email, roleId);
    const client = gangway.stranger();
    const { acceptInvite } = await client.must<{ acceptInvite: { viewer: { id: string } } }>(
      accept,
      { token, name, password },
    );
    return { client, userId: acceptInvite.viewer.id, email };
  }

  async function roleOf(...held: string[]): Promise<string> {
    const name = `Role ${String(Math.random())}`;
    const made = await ann.must<{ createRole: Role }>(makingRole, { name, capabilities: held });
    return made.createRole.id;
  }

  it('lets a new person join by the link, once', async () => {
    const token = await inviteToken(ann, ' New@Example.org ', roles['Member'] ?? '');
    const { invites } = await ann.must<{ invites: { email: string; expiresAt: string }[] }>(
      '{ invites { email expiresAt role { name } } }',
    );
    const [invite] = invites.filter((one) => one.email === 'new@example.org');
    assert.ok(invite);
    const days = (Date.parse(invite.expiresAt) - Date.now()) / 86_400_000;
    assert.ok(days > 6.9 && days <= 7);
    const one = gangway.stranger();
    assert.equal(await one.fails(accept, { token }), 'BAD_USER_INPUT');
    assert.equal(
      await one.fails(accept, { token, name: 'N', password: 'short' }),
      'BAD_USER_INPUT',
    );
    const given = { token, name: 'New', password };
    const answers = await Promise.all(
      [gangway.stranger(), gangway.stranger(), gangway.stranger()].map((client) =>
        client.graphql<{ acceptInvite: { viewer: { email: string } } }>(accept, given),
      ),
    );
    const joined = answers.filter((answer) => answer.errors.length === 0);
    assert.equal(joined.length, 1);
    assert.equal(joined[0]?.data?.acceptInvite.viewer.email, 'new@example.org');
    assert.equal(await one.fails(accept, given), 'NOT_FOUND');
    const { members } = await ann.must<{ members: { email: string }[] }>('{ members { email } }');
    assert.equal(members.filter(({ email }) => email === 'new@example.org').length, 1);
    const again = { email: 'new@example.org', roleId: roles['Viewer'] };
    assert.equal(await ann.fails(inviting, again), 'CONFLICT');
  });

  it('answers unknown, malformed, revoked and replaced links alike', async () => {
    const roleId = roles['Viewer'] ?? '';
    const replaced = await inviteToken(ann, 'gone@example.org', roleId);
    const revoked = await inviteToken(ann, 'gone@example.org', roleId);
    const { invites } = await ann.must<{ invites: { id: string; email: string }[] }>(
      '{ invites { id email } }',
    );
    const open = invites.filter(({ email }) => email === 'gone@example.org');
    assert.equal(open.length, 1);
    const revoking = 'mutation($id: ID!) { revokeInvite(id: $id) }';
    await ann.must(revoking, { id: open[0]?.id });
    assert.equal(await ann.fails(revoking, { id: open[0]?.id }), 'NOT_FOUND');
    const messages = new Set<string>();
    for (const token of [replaced, revoked, 'x', '', 'A'.repeat(43), revoked.slice(0, -1)]) {
      const given = { token, name: 'G', password };
      const { errors, status } = await gangway.stranger().graphql(accept, given);
      if (status !== 429) messages.add(`${errors[0]?.extensions.code} ${errors[0]?.message}`);
    }
    assert.equal(messages.size, 1);
    assert.match([...messages][0] ?? '', /^NOT_FOUND /);
  });

  it('asks who has an account to sign in first, and joins who is signed in', async () => {
    const bob = await newcomer('bob', roles['Viewer'] ?? '');
    const { createTeam } = await ann.must<{ createTeam: { id: string; slug: string } }>(
      'mutation { createTeam(name: "Home") { id slug } }',
    );
    assert.equal(createTeam.slug, 'home-2');
    const acting = { 'x-service-team': createTeam.id };
    const own = await ann.must<{ roles: Role[] }>('{ roles { id name } }', {}, acting);
    const roleId = own.roles.find(({ name }) => name === 'Owner')?.id;
    const foreign = { email: bob.email, roleId: roles['Owner'] };
    assert.equal(
      (await ann.graphql(inviting, foreign, acting)).errors[0]?.extensions.code,
      'NOT_FOUND',
    );
    const { inviteMember } = await ann.must<{ inviteMember: string }>(
      inviting,
      { email: bob.email, roleId },
      acting,
    );
    const token = inviteMember.slice(inviteMember.lastIndexOf('/') + 1);
    const given = { token, name: 'Bob', password };
    assert.equal(await gangway.stranger().fails(accept, given), 'CONFLICT');
    await bob.client.must(accept, { token });
    assert.equal(await bob.client.fails(accept, { token }), 'NOT_FOUND');
    const { myTeams } = await bob.client.must<{ myTeams: { id: string }[] }>('{ myTeams { id } }');
    assert.deepEqual(new Set(myTeams.map(({ id }) => id)), new Set([homeId, createTeam.id]));

    // Two owners demote each other: one stays.
    const viewer = own.roles.find(({ name }) => name === 'Viewer')?.id;
    const answers = await Promise.all([
      ann.graphql(updating, { userId: bob.userId, roleId: viewer }, acting),
      bob.client.graphql(updating, { userId: annId, roleId: viewer }, acting),
    ]);
    const codes = answers.map(({ errors }) => errors[0]?.extensions.code ?? 'done').sort();
    assert.deepEqual(codes, ['FORBIDDEN', 'done']);
    const { members } = await ann.must<{ members: { userId: string; role: Role }[] }>(
      '{ members { userId role { name } } }',
      {},
      acting,
    );
    const [left, ...more] = members.filter(({ role }) => role.name === 'Owner');
    assert.ok(left && more.length === 0);
    const last = left.userId === annId ? ann : bob.client;
    const demote = await last.graphql(updating, { userId: left.userId, roleId: viewer }, acting);
    assert.equal(demote.errors[0]?.extensions.code, 'CONFLICT');
    const leave = await last.graphql(removing, { userId: left.userId }, acting);
    assert.equal(leave.errors[0]?.extensions.code, 'CONFLICT');
    const other = last === ann ? bob.client : ann;
    assert.equal(await other.fails(deletingTeam, { id: createTeam.id }), 'FORBIDDEN');
    assert.equal(
      await gangway.stranger().fails(deletingTeam, { id: createTeam.id }),
      'UNAUTHENTICATED',
    );
    await last.must(deletingTeam, { id: createTeam.id });
    assert.equal(await last.fails(deletingTeam, { id: createTeam.id }), 'NOT_FOUND');
  });

  it('lets nobody give, widen or take away what they do not hold', async () => {
    const manager = await roleOf('manage_members', 'manage_roles', 'view_logs');
    const mia = await newcomer('mia', manager);
    const vic = await newcomer('vic', roles['Viewer'] ?? '');
    const mel = await newcomer('mel', roles['Member'] ?? '');
    const asks: [string, Record<string, unknown>][] = [
      [inviting, { email: 'x@example.org', roleId: roles['Owner'] }],
      [inviting, { email: 'x@example.org', roleId: roles['Member'] }],
      [updating, { userId: mia.userId, roleId: roles['Owner'] }],
      [updating, { userId: vic.userId, roleId: roles['Member'] }],
      [updating, { userId: annId, roleId: manager }],
      [updating, { userId: mel.userId, roleId: manager }],
      [removing, { userId: annId }],
      [removing, { userId: mel.userId }],
      [makingRole, { name: 'More', capabilities: ['view_logs', 'delete_apps'] }],
      [changingRole, { id: manager, capabilities: ['manage_members', 'manage_team'] }],
    ];
    for (const [query, variables] of asks) {
      assert.equal(
        await mia.client.fails(query, variables),
        'FORBIDDEN',
        JSON.stringify(variables),
      );
    }
    const strong = await roleOf('manage_team', 'view_logs');
    const cut = { id: strong, capabilities: ['view_logs'] };
    assert.equal(await mia.client.fails(changingRole, cut), 'FORBIDDEN');
    await mia.client.must(makingRole, { name: 'Less', capabilities: ['view_logs'] });
    assert.equal(
      await mia.client.fails(makingRole, { name: 'Less', capabilities: [] }),
      'CONFLICT',
    );
    assert.equal(await vic.client.fails('{ invites { id } }'), 'FORBIDDEN');
    assert.equal(await ann.fails(changingRole, { id: roles['Viewer'], name: 'Seer' }), 'CONFLICT');
    const dropping = 'mutation($id: ID!) { deleteRole(id: $id) }';
    assert.equal(await ann.fails(dropping, { id: manager }), 'CONFLICT');
    await ann.must(dropping, { id: strong });
    assert.equal(await ann.fails(dropping, { id: strong }), 'NOT_FOUND');

    // A token hands on what it carries, and never owns.
    const secret = await ann.token({ capabilities: ['manage_members', 'view_logs'] });
    const bearer = { authorization: `Bearer ${secret}` };
    const program = gangway.stranger();
    for (const roleId of [roles['Owner'], roles['Member']]) {
      const given = { email: 'x@example.org', roleId };
      assert.equal(await program.fails(inviting, given, bearer), 'FORBIDDEN');
    }
    const app = await ann.createApp('Scoped');
    const narrow = await ann.token({ capabilities: ['manage_members'], appIds: [app.id] });
    assert.equal(
      await program.fails(removing, { userId: vic.userId }, { authorization: `Bearer ${narrow}` }),
      'FORBIDDEN',
    );
    assert.equal(
      await program.fails('mutation { createTeam(name: "T") { id } }', {}, bearer),
      'FORBIDDEN',
    );
    assert.equal(await ann.fails(deletingTeam, { id: homeId }), 'CONFLICT');

    // The link of somebody who was removed leads nowhere.
    const back = await inviteToken(mia.client, 'back@example.org', manager);
    await ann.must(removing, { userId: mia.userId });
    const given = { token: back, name: 'Back', password };
    assert.equal(await gangway.stranger().fails(accept, given), 'NOT_FOUND');
  });

  it('leaves no app in a team or a folder that ends while the app comes in', async () => {
    const creating =
      'mutation($folderId: ID) { createApp(input: { name: "Racer", source: UPLOAD, folderId: $folderId }) { id folderId } }';
    for (let i = 0; i < 8; i++) {
      const { createTeam } = await ann.must<{ createTeam: { id: string } }>(
        'mutation { createTeam(name: "Race") { id } }',
      );
      const acting = { 'x-service-team': createTeam.id };
      const [made, ended] = await Promise.all([
        ann.graphql(creating, {}, acting),
        ann.graphql(deletingTeam, { id: createTeam.id }),
      ]);
      const codes = [made, ended].flatMap(({ errors }) => errors.map((one) => one.extensions.code));
      assert.equal(codes.length, 1, codes.join());
      assert.match(codes[0] ?? '', /^(CONFLICT|NOT_FOUND)$/);
    }
    const { createFolder } = await ann.must<{ createFolder: { id: string } }>(
      'mutation { createFolder(name: "Race") { id } }',
    );
    const { id: folderId } = createFolder;
    const app = await ann.createApp('Walker');
    const moving =
      'mutation($id: ID!, $folderId: ID) { updateApp(id: $id, folderId: $folderId) { id } }';
    const answers = await Promise.all([
      ann.graphql(moving, { id: app.id, folderId }),
      ann.graphql('mutation($id: ID!) { deleteFolder(id: $id) }', { id: folderId }),
    ]);
    assert.equal(answers.flatMap(({ errors }) => errors).length, 1);
    const { activity } = await ann.must<{ activity: { nodes: { target: string | null }[] } }>(
      '{ activity { nodes { action target } } }',
    );
    assert.ok(activity.nodes.some(({ target }) => target?.includes('Walker')));
  });

  it('stops everything of a removed person at once', async () => {
    const role = await roleOf('manage_tokens', 'view_logs');
    const tom = await newcomer('tom', role);
    const app = await ann.createApp('Watched');
    const secret = await tom.client.token({ capabilities: ['view_logs'] });
    const bearer = { authorization: `Bearer ${secret}` };
    await gangway.stranger().must('{ apps { nodes { id } } }', {}, bearer);
    const response = await fetch(`${gangway.url}/api/apps/${app.id}/logs`, {
      headers: { cookie: tom.client.cookie },
    });
    assert.equal(response.status, 200);
    let ended = false;
    const reading = (async () => {
      for await (const bytes of response.body ?? []) assert.ok(bytes);
    })().then(
      () => (ended = true),
      () => (ended = true),
    );
    await ann.must(removing, { userId: tom.userId });
    assert.equal((await gangway.stranger().graphql('{ me { id } }', {}, bearer)).status, 401);
    assert.equal(await tom.client.fails('{ apps { nodes { id } } }'), 'FORBIDDEN');
    const { me, myTeams } = await tom.client.must<{ me: { id: string }; myTeams: unknown[] }>(
      '{ me { id } myTeams { id } }',
    );
    assert.equal(me.id, tom.userId);
    assert.deepEqual(myTeams, []);
    await until('the stream ends', 10_000, () => ended);
    await reading;
  });

  it('serves a page that makes an account, and one that joins', async () => {
    const roleId = roles['Viewer'] ?? '';
    const token = await inviteToken(ann, 'page@example.org', roleId);
    const stranger = gangway.stranger();
    const form = (fields: Record<string, string>, headers: Record<string, string> = {}) => ({
      method: 'POST',
      headers: { 'content-type': 'application/x-www-form-urlencoded', ...headers },
      body: new URLSearchParams(fields).toString(),
    });
    const page = await stranger.ask(`/invite/${token}`);
    assert.equal(page.status, 200);
    assert.match(page.text, /page@example\.org/);
    assert.match(page.headers.get('content-security-policy') ?? '', /default-src 'none'/);
    const signedIn = await ann.ask(`/invite/${token}`);
    assert.match(signedIn.text, /<button>Join<\/button>/);
    const wrong = await stranger.ask('/invite/nothing');
    assert.equal(wrong.status, 404);
    assert.match(wrong.headers.get('content-type') ?? '', /text\/html/);
    const crossSite = form({ name: 'P', password }, { 'sec-fetch-site': 'cross-site' });
    assert.equal((await stranger.ask(`/invite/${token}`, crossSite)).status, 403);
    const short = await stranger.ask(`/invite/${token}`, form({ name: '<P>', password: 'short' }));
    assert.equal(short.status, 400);
    assert.match(short.text, /value="&#60;P&#62;"/);
    const made = await stranger.ask(`/invite/${token}`, form({ name: 'P', password }));
    assert.equal(made.status, 303);
    assert.match(made.headers.getSetCookie().join(), /service\.session_token=.*HttpOnly/);
    assert.equal((await stranger.ask(`/invite/${token}`)).status, 404);
  });

  it('checks names, addresses and ids', async () => {
    for (const name of ['', ' ', 'x'.repeat(101), 'a\nb']) {
      assert.equal(
        await ann.fails('mutation($name: String!) { createTeam(name: $name) { id } }', { name }),
        'BAD_USER_INPUT',
      );
      assert.equal(
        await ann.fails('mutation($name: String) { updateTeam(name: $name) { id } }', { name }),
        'BAD_USER_INPUT',
      );
      assert.equal(await ann.fails(makingRole, { name, capabilities: [] }), 'BAD_USER_INPUT');
    }
    for (const email of ['', 'x', 'a@b', `${'x'.repeat(300)}@example.org`]) {
      const given = { email, roleId: roles['Viewer'] };
      assert.equal(await ann.fails(inviting, given), 'BAD_USER_INPUT', email);
    }
    const none = { email: 'x@example.org', roleId: 'rol_none' };
    assert.equal(await ann.fails(inviting, none), 'NOT_FOUND');
    assert.equal(await ann.fails(removing, { userId: 'usr_none' }), 'NOT_FOUND');
    const renamed = await ann.must<{ updateTeam: { name: string; slug: string } }>(
      'mutation { updateTeam(name: "House") { name slug } }',
    );
    assert.deepEqual(renamed.updateTeam, { name: 'House', slug: 'home' });
  });
});
