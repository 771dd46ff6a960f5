/** Pages that follow a team over WebSocket while it works, people come and go, and the service restarts. */
import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { join, makeRole } from '../support/access-world.ts';
import { cleanups } from '../support/cleanups.ts';
import type { Client } from '../support/gangway-client.ts';
import { Gangway, until } from '../support/gangway.ts';
import { RawGraphqlSocket } from '../support/graphql-socket.ts';

const changes =
  'subscription { teamChanges { kind id app { name status } deployment { status } } }';
const patienceMs = 30_000;

interface Change {
  kind: string;
  id: string;
  app: { name: string; status: string } | null;
  deployment: { status: string } | null;
}

class Page {
  readonly socket: RawGraphqlSocket;

  private constructor(socket: RawGraphqlSocket) {
    this.socket = socket;
  }

  static async open(gangway: Gangway, { cookie }: Client): Promise<Page> {
    const headers = { cookie, origin: gangway.url, 'user-agent': 'a page' };
    const page = new Page(await RawGraphqlSocket.start(`${gangway.url}/api/graphql`, headers));
    page.socket.subscribe('changes', changes);
    await until('it hears of changes', patienceMs, () => page.told[0]?.kind === 'ready');
    return page;
  }

  get told(): Change[] {
    return this.socket.frames.flatMap(({ type, payload, id }) => {
      if (type !== 'next' || id !== 'changes') return [];
      const { data } = payload as { data: { teamChanges: Change } | null };
      return data ? [data.teamChanges] : [];
    });
  }

  hears(what: string, test: (change: Change) => boolean): Promise<void> {
    return until(what, patienceMs, () => this.told.some(test));
  }
}

describe('pages that follow a team over WebSocket', () => {
  const later = cleanups();
  let gangway: Gangway;
  let owner: Client;
  let teamId: string;
  before(async () => {
    gangway = await Gangway.open();
    later(() => gangway.end());
    owner = gangway.client;
    const { viewerTeam } = await owner.must<{ viewerTeam: { id: string } }>(
      '{ viewerTeam { id } }',
    );
    teamId = viewerTeam.id;
  });

  it('hear of what others do, whichever thread they are connected to', async () => {
    const pages = await Promise.all(Array.from({ length: 6 }, () => Page.open(gangway, owner)));
    const app = await owner.createApp('Followed');
    for (const page of pages) {
      await page.hears('the new app', ({ app: seen }) => seen?.name === 'Followed');
    }
    await owner.must('mutation($id: ID!) { deleteApp(id: $id) }', { id: app.id });
    for (const page of pages) {
      await page.hears('it is gone', ({ kind, id, app: seen }) => {
        return kind === 'app' && id === app.id && seen === null;
      });
      await page.hears('it is in trash', ({ kind }) => kind === 'trash');
      await page.socket.close();
    }
  });

  it('change things over the same connection, which the activity tells', async () => {
    const page = await Page.open(gangway, owner);
    page.socket.subscribe('1', 'mutation { createFolder(name: "by page") { id } }');
    await page.hears('the folder', ({ kind }) => kind === 'folder');
    const { activity } = await owner.must<{
      activity: { nodes: { action: string; details: { userAgent?: string } }[] };
    }>('{ activity(first: 5) { nodes { action details } } }');
    const entry = activity.nodes.find(({ action }) => action === 'createFolder');
    assert.ok(entry, JSON.stringify(activity.nodes));
    await page.socket.close();
  });

  it('end with the session, and with the membership', async () => {
    const roleId = await makeRole(owner, teamId, 'Watcher', ['view_logs']);
    const guest = await join(gangway, teamId, roleId, 'watcher');
    const page = await Page.open(gangway, guest);
    const own = await Page.open(gangway, guest);
    const { me } = await guest.must<{ me: { id: string } }>('{ me { id } }');
    await guest.must('mutation { logout }');
    assert.equal((await page.socket.closed).code, 4401);
    assert.equal((await own.socket.closed).code, 4401);
    await owner.must('mutation($userId: ID!) { removeMember(userId: $userId) }', { userId: me.id });
  });

  it('are told to come back when the service ends, and do', async () => {
    const page = await Page.open(gangway, owner);
    await gangway.stop();
    assert.equal((await page.socket.closed).code, 1001);
    await gangway.start();
    const again = await Page.open(gangway, owner);
    await owner.createApp('After the restart');
    await again.hears('the app', ({ app }) => app?.name === 'After the restart');
    await again.socket.close();
  });
});
