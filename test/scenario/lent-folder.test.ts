/** An owner lends a contractor a single folder, and takes it back. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { join, lend, makeFolder, makeRole, roleNamed, userIdOf } from '../support/access-world.ts';
import type { AppInfo, Client } from '../support/gangway-client.ts';
import { Gangway, until } from '../support/gangway.ts';

const granted = ['create_apps', 'configure_apps', 'deploy_apps', 'manage_env', 'view_logs'];

describe('a folder lent to somebody whose role gives nothing', () => {
  let gangway: Gangway;
  let owner: Client;
  let guest: Client;
  let guestId: string;
  let teamId: string;
  let outer: string;
  let lentId: string;
  let innerId: string;
  let keptId: string;
  let lentApp: AppInfo;
  let innerApp: AppInfo;
  let keptApp: AppInfo;

  before(async () => {
    gangway = await Gangway.open();
    owner = gangway.client;
    teamId = (await owner.must<{ viewerTeam: { id: string } }>('{ viewerTeam { id } }')).viewerTeam
      .id;
    outer = await makeFolder(owner, teamId, 'Outer');
    lentId = await makeFolder(owner, teamId, 'Lent', outer);
    innerId = await makeFolder(owner, teamId, 'Inner', lentId);
    keptId = await makeFolder(owner, teamId, 'Kept', outer);
    lentApp = await owner.createApp('Shop lent', { folderId: lentId });
    innerApp = await owner.createApp('Shop inner', { folderId: innerId });
    keptApp = await owner.createApp('Shop kept', { folderId: keptId });
    await owner.createApp('Shop none');
    guest = await join(gangway, teamId, await makeRole(owner, teamId, 'Guest', []), 'guest');
    guestId = await userIdOf(guest);
  });
  after(() => gangway.end());

  const lists =
    '{ apps { totalCount nodes { id } } folders { id parentId } found: apps(search: "shop") { totalCount } }';

  it('is all they see, once it is lent, and its parent is none to them', async () => {
    const nothing = { apps: { totalCount: 0, nodes: [] }, folders: [], found: { totalCount: 0 } };
    assert.deepEqual(await guest.must(lists), nothing);
    await lend(owner, lentId, guestId, granted);
    assert.deepEqual(await guest.must(lists), {
      apps: { totalCount: 2, nodes: [{ id: lentApp.id }, { id: innerApp.id }] },
      folders: [
        { id: innerId, parentId: lentId },
        { id: lentId, parentId: null },
      ],
      found: { totalCount: 2 },
    });
    const { kept, app } = await guest.must<{ kept: unknown; app: { folderId: string } }>(
      `{ kept: app(slug: "${keptApp.slug}") { id } app(id: "${innerApp.id}") { folderId } }`,
    );
    assert.equal(kept, null);
    assert.equal(app.folderId, innerId);
    assert.equal(await guest.fails(`{ env(appId: "${keptApp.id}") { key } }`), 'NOT_FOUND');
    const { apps } = await guest.must<{ apps: { totalCount: number } }>(
      `{ apps(folderId: "${keptId}") { totalCount } }`,
    );
    assert.equal(apps.totalCount, 0);
    assert.equal((await guest.ask(`/api/apps/${keptApp.id}/logs`)).status, 404);
  });

  it('lets them work in it and no further', async () => {
    const made = await guest.createApp('Guest made', { folderId: innerId });
    assert.equal(await guest.fails(`mutation { deleteApp(id: "${made.id}") }`), 'FORBIDDEN');
    const create = 'mutation($input: CreateAppInput!) { createApp(input: $input) { id } }';
    const input = { name: 'More', source: 'UPLOAD' };
    assert.equal(await guest.fails(create, { input }), 'FORBIDDEN');
    assert.equal(await guest.fails(create, { input: { ...input, folderId: keptId } }), 'NOT_FOUND');
    const move =
      'mutation($id: ID!, $folderId: ID) { updateApp(id: $id, folderId: $folderId) { folderId } }';
    assert.deepEqual(await guest.must(move, { id: made.id, folderId: lentId }), {
      updateApp: { folderId: lentId },
    });
    assert.equal(await guest.fails(move, { id: made.id, folderId: outer }), 'NOT_FOUND');
    assert.equal(await guest.fails(move, { id: made.id, folderId: null }), 'FORBIDDEN');
    assert.equal(await guest.fails(move, { id: keptApp.id, folderId: lentId }), 'NOT_FOUND');
    const grant =
      'mutation($f: ID!, $u: ID!) { setFolderGrant(folderId: $f, userId: $u, capabilities: [deploy_apps]) { userId } }';
    assert.equal(await guest.fails(grant, { f: lentId, u: guestId }), 'FORBIDDEN');
    assert.equal(
      await guest.fails(`{ folderGrants(folderId: "${lentId}") { userId } }`),
      'FORBIDDEN',
    );
  });

  it('is lent by who manages members, as far as they hold it themselves', async () => {
    const held = ['manage_members', 'view_logs'];
    const role = await makeRole(owner, teamId, 'Host', held);
    const host = await join(gangway, teamId, role, 'host');
    const set =
      'mutation($f: ID!, $u: ID!, $held: [Capability!]!) { setFolderGrant(folderId: $f, userId: $u, capabilities: $held) { userId capabilities } }';
    const to = { f: keptId, u: await userIdOf(host) };
    assert.equal(await host.fails(set, { ...to, held: ['view_logs', 'delete_apps'] }), 'FORBIDDEN');
    assert.deepEqual(await host.must(set, { ...to, held: ['view_logs'] }), {
      setFolderGrant: [{ userId: to.u, capabilities: ['view_logs'] }],
    });
    assert.deepEqual(await host.must(set, { ...to, held: [] }), { setFolderGrant: [] });
    assert.equal(await owner.fails(set, { f: keptId, u: 'usr_none', held }), 'NOT_FOUND');
    assert.equal(await owner.fails(set, { f: 'fld_none', u: to.u, held }), 'NOT_FOUND');
    const { createTeam } = await owner.must<{ createTeam: { id: string } }>(
      'mutation { createTeam(name: "Other") { id } }',
    );
    const foreign = await join(
      gangway,
      createTeam.id,
      await roleNamed(owner, createTeam.id, 'Viewer'),
      'foreign',
    );
    assert.equal(await owner.fails(set, { ...to, u: await userIdOf(foreign), held }), 'NOT_FOUND');
    const elsewhere = await makeFolder(owner, createTeam.id, 'Elsewhere');
    const move =
      'mutation($id: ID!, $folderId: ID) { updateApp(id: $id, folderId: $folderId) { id } }';
    assert.equal(await owner.fails(move, { id: keptApp.id, folderId: elsewhere }), 'NOT_FOUND');
  });

  it('does not give by a move what the mover could not give', async () => {
    const role = await makeRole(owner, teamId, 'Mover', ['configure_apps', 'view_logs']);
    const mover = await join(gangway, teamId, role, 'mover');
    await lend(owner, keptId, await userIdOf(mover), ['reveal_secrets']);
    const move =
      'mutation($id: ID!, $folderId: ID) { updateApp(id: $id, folderId: $folderId) { id } }';
    assert.equal(await mover.fails(move, { id: innerApp.id, folderId: keptId }), 'FORBIDDEN');
    await owner.must(move, { id: innerApp.id, folderId: keptId });
    await owner.must(move, { id: innerApp.id, folderId: innerId });
  });

  it('is gone at once when it is taken back: streams, subscriptions and tokens, too', async () => {
    const log = await fetch(`${gangway.url}/api/apps/${lentApp.id}/logs`, {
      headers: { cookie: guest.cookie },
    });
    assert.equal(log.status, 200);
    const status = await fetch(`${gangway.url}/api/graphql`, {
      method: 'POST',
      headers: {
        cookie: guest.cookie,
        accept: 'text/event-stream',
        'content-type': 'application/json',
      },
      body: JSON.stringify({ query: `subscription { appStatus(id: "${lentApp.id}") { status } }` }),
    });
    const texts = [log, status].map((response) => textOf(response));
    await until('both have begun', 10_000, () =>
      texts.every(({ text }) => text.includes('event:')),
    );
    // The same query as often as it takes to be answered from memory, on every thread.
    for (let i = 0; i < 20; i++) await guest.must(lists);
    await lend(owner, lentId, guestId, []);
    const { data } = await guest.graphql<{ apps: { totalCount: number } }>(lists);
    assert.equal(data?.apps.totalCount, 0);
    await until('both ended', 10_000, () => texts.every(({ ended }) => ended));
    assert.match(texts[0]?.text ?? '', /event: failure\ndata: "You may no longer see this log/);
    assert.match(texts[1]?.text ?? '', /NOT_FOUND/);
    await lend(owner, lentId, guestId, ['manage_env']);
    assert.equal((await guest.ask(`/api/apps/${lentApp.id}/logs`)).status, 403);
  });

  it('ends with the membership and with the folder', async () => {
    await owner.must('mutation($id: ID!) { removeMember(userId: $id) }', { id: guestId });
    const { folderGrants } = await owner.must<{ folderGrants: unknown[] }>(
      `{ folderGrants(folderId: "${lentId}") { userId } }`,
    );
    assert.deepEqual(folderGrants, []);
    assert.equal(
      await guest.fails(`{ logs(appId: "${lentApp.id}") { nodes { text } } }`),
      'NOT_FOUND',
    );
  });
});

/** What a stream has sent so far. */
function textOf(response: Response): { text: string; ended: boolean } {
  const found = { text: '', ended: false };
  const read = async (): Promise<void> => {
    const decoder = new TextDecoder();
    for await (const bytes of response.body ?? []) {
      found.text += decoder.decode(bytes as Uint8Array, { stream: true });
    }
  };
  // Cut is an end, too.
  void read().finally(() => {
    found.ended = true;
  });
  return found;
}
