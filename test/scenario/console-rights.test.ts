import assert from 'node:assert/strict';
import { get } from 'node:http';
import { after, afterEach, before, describe, it } from 'node:test';
import { join, makeRole, userIdOf } from '../support/access-world.ts';
import { codeOf, ConsoleClient } from '../support/console-client.ts';
import { ConsolePlace, servingArchive } from '../support/console-place.ts';
import type { Answer, AppInfo, Client } from '../support/gangway-client.ts';
import type { Gangway } from '../support/gangway.ts';
import { until } from '../support/gangway.ts';
import { mark, marked } from '../support/driver-specs.ts';

describe('consoles and rights', () => {
  let place: ConsolePlace;
  let gangway: Gangway;
  let me: Client;
  let app: AppInfo;
  let path: string;
  let teamId: string;
  let other: Client;
  before(async () => {
    place = await ConsolePlace.open();
    ({ gangway, app, path, teamId, other } = place);
    me = gangway.client;
  });
  after(() => place.end());
  afterEach(() => place.closeAll());
  const open = (query = '', client = me): Promise<ConsoleClient> => place.console(query, client);

  describe('who may', () => {
    it('is the opener alone', async () => {
      const shell = await open();
      const { id: sessionId } = shell;
      for (const body of [
        { sessionId, data: 'echo no\r' },
        { sessionId, resize: { cols: 9, rows: 9 } },
      ]) {
        const answer = await other.ask(path, { method: 'POST', body: JSON.stringify(body) });
        assert.equal(codeOf(answer), '403 FORBIDDEN');
      }
      assert.equal(codeOf(await shell.delete(other)), '403 FORBIDDEN');
      const nobody = gangway.stranger();
      assert.equal(codeOf(await shell.delete(nobody)), '401 UNAUTHENTICATED');
      // Another sign-in of the same person is that person.
      const again = await gangway.signIn();
      const answer = await again.ask(path, {
        method: 'POST',
        body: JSON.stringify({ sessionId, data: 'echo me-$((1+1))\r' }),
      });
      assert.equal(answer.status, 204);
      await shell.sees('me-2');
      const back = await ConsoleClient.ask(again, path, `?sessionId=${sessionId}`);
      await shell.ends('failure');
      await again.must('mutation { logout }');
      await back.ends('failure');
      assert.equal((await shell.back()).code, 'NO_SUCH_SESSION');
    });

    it('is nobody by token, across sites, or by going there', async () => {
      const secret = await me.token({ capabilities: ['open_app_console'] });
      const refusals: [Record<string, string>, string][] = [
        [{ authorization: `Bearer ${secret}` }, '401 COOKIE_REQUIRED'],
        [{ 'sec-fetch-site': 'cross-site' }, '403 CROSS_SITE'],
        [{ 'sec-fetch-site': 'same-site' }, '403 CROSS_SITE'],
        [{ origin: 'https://elsewhere.example' }, '403 CROSS_SITE'],
        [{ 'sec-fetch-site': 'none', 'sec-fetch-mode': 'navigate' }, '403 CROSS_SITE'],
        [{ 'sec-fetch-site': 'same-origin', 'sec-fetch-mode': 'navigate' }, '403 CROSS_SITE'],
        [{ cookie: '' }, '401 UNAUTHENTICATED'],
      ];
      for (const [headers, code] of refusals) {
        const asked = await rawGet(`${gangway.url}${path}`, { cookie: me.cookie, ...headers });
        assert.equal(codeOf(asked), code, JSON.stringify(headers));
      }
      const fine = await ConsoleClient.ask(me, path, '', {
        'sec-fetch-site': 'same-origin',
        'sec-fetch-mode': 'cors',
      });
      assert.equal(fine.stream.status, 200);
      place.closed(fine);
      for (const method of ['POST', 'DELETE'] as const) {
        const crossed = await me.ask(`${path}?sessionId=${fine.id}`, {
          method,
          headers: { 'sec-fetch-site': 'cross-site' },
          ...(method === 'POST' && { body: JSON.stringify({ sessionId: fine.id, data: 'x' }) }),
        });
        assert.equal(codeOf(crossed), '403 CROSS_SITE');
      }
    });

    it('holds the capability', async () => {
      const viewerRole = await makeRole(me, teamId, 'Looker', ['view_logs']);
      const viewer = await join(gangway, teamId, viewerRole, 'viewer');
      const asked = await ConsoleClient.ask(viewer, path);
      assert.equal(`${String(asked.stream.status)} ${asked.code}`, '403 FORBIDDEN');
      assert.match(asked.stream.text, /open_app_console/);
      const gone = await ConsoleClient.ask(me, '/api/apps/app_none/attach');
      assert.equal(`${String(gone.stream.status)} ${gone.code}`, '404 NOT_FOUND');
      const strayed = await ConsoleClient.ask(me, '/api/databases/db_none/attach');
      assert.equal(`${String(strayed.stream.status)} ${strayed.code}`, '404 NOT_FOUND');
      const container = await ConsoleClient.ask(me, path, '?container=none');
      assert.equal(container.code, 'NO_SUCH_CONTAINER');
    });

    it('loses the console within a second of losing the right', async () => {
      const shell = await open('', other);
      await shell.type('echo open-$((1+1))\r');
      await shell.sees('open-2');
      const userId = await userIdOf(other);
      const role = await makeRole(me, teamId, 'Nothing', []);
      const changing =
        'mutation($userId: ID!, $roleId: ID!) { updateMember(userId: $userId, roleId: $roleId) { userId } }';
      await me.must(changing, { userId, roleId: role });
      const answer = await shell.post({ sessionId: shell.id, data: 'echo no\r' });
      assert.match(codeOf(answer), /403 FORBIDDEN|404 NO_SUCH_SESSION/);
      await shell.ends('failure');
      await me.must(changing, { userId, roleId: place.otherRole });
      const back = await shell.back();
      assert.equal(back.code, 'NO_SUCH_SESSION');
    });

    it('may have 16 at a time', async () => {
      const consoles = await Promise.all(Array.from({ length: 16 }, () => open('', other)));
      const over = await ConsoleClient.ask(other, path);
      assert.equal(`${String(over.stream.status)} ${over.code}`, '429 TOO_MANY_STREAMS');
      const mine = await open();
      assert.equal(mine.stream.status, 200);
      await consoles[0]?.delete();
      const again = await open('', other);
      assert.equal(again.stream.status, 200);
    });
  });

  describe('execConsole()', () => {
    const exec =
      'mutation($id: ID!, $c: String!, $at: String) { execConsole(appId: $id, command: $c, container: $at) { output exitCode truncated } }';
    interface Ran {
      execConsole: { output: string; exitCode: number; truncated: boolean };
    }

    it('runs a line of the shell beside the app', async () => {
      const { execConsole } = await me.must<Ran>(exec, {
        id: app.id,
        c: 'echo a; echo b >&2; exit 5',
      });
      assert.deepEqual(execConsole, { output: 'a\nb\n', exitCode: 5, truncated: false });
      const long = await me.must<Ran>(exec, { id: app.id, c: 'seq 1 100000' });
      assert.equal(long.execConsole.truncated, true);
      assert.equal(Buffer.byteLength(long.execConsole.output), 65_536);
    });

    it('is refused for nonsense, and to who may not', async () => {
      assert.equal(await me.fails(exec, { id: app.id, c: '  ' }), 'BAD_USER_INPUT');
      assert.equal(await me.fails(exec, { id: app.id, c: 'a'.repeat(70_000) }), 'BAD_USER_INPUT');
      assert.equal(await me.fails(exec, { id: app.id, c: 'ls', at: 'none' }), 'NO_SUCH_CONTAINER');
      assert.equal(await me.fails(exec, { id: 'app_none', c: 'ls' }), 'NOT_FOUND');
      const secret = await me.token({ capabilities: ['deploy_apps'] });
      const by = (token: string): Promise<string | undefined> =>
        gangway
          .stranger()
          .fails(exec, { id: app.id, c: 'id' }, { authorization: `Bearer ${token}` });
      assert.equal(await by(secret), 'FORBIDDEN');
      assert.equal(await by(await me.token({ capabilities: ['open_app_console'] })), undefined);
    });
  });

  it('are told in the activity, without what was typed', async () => {
    const shell = await open();
    await shell.type('echo very-private-words\r');
    await shell.sees('very-private-words');
    await shell.delete();
    interface Activity {
      activity: { nodes: { action: string; target: string; details: unknown }[] };
    }
    const query = '{ activity(first: 100) { nodes { action target details } } }';
    let nodes: Activity['activity']['nodes'] = [];
    await until('its end is told', 20_000, async () => {
      nodes = (await me.must<Activity>(query)).activity.nodes;
      return nodes[0]?.action === 'close_console';
    });
    const openedEntry = nodes.find(({ action }) => action === 'open_console');
    assert.match(openedEntry?.target ?? '', /shelly/);
    assert.ok(nodes.some(({ action }) => action === 'execConsole'));
    assert.doesNotMatch(JSON.stringify(nodes), /very-private|POST \/api|seq 1/);
  });

  it('end with exit when the app is stopped, and are not opened then', async () => {
    const stopping = await me.runningApp('stopping', servingArchive);
    const its = `/api/apps/${stopping.id}/attach`;
    const shell = await ConsoleClient.open(me, its);
    await me.must('mutation($id: ID!) { stopApp(id: $id) { id } }', { id: stopping.id });
    await shell.ends('exit');
    const asked = await ConsoleClient.ask(me, its);
    assert.equal(`${String(asked.stream.status)} ${asked.code}`, '409 NOT_RUNNING');
    const exec = 'mutation($id: ID!) { execConsole(appId: $id, command: "ls") { output } }';
    assert.equal(await me.fails(exec, { id: stopping.id }), 'NOT_RUNNING');
    await me.must('mutation($id: ID!) { startApp(id: $id) { id } }', { id: stopping.id });
    let again = asked;
    await until('it is opened again', 30_000, async () => {
      again = await ConsoleClient.ask(me, its);
      return again.stream.status === 200;
    });
    await me.must('mutation($id: ID!) { deleteApp(id: $id) }', { id: stopping.id });
    await again.ends('exit');
  });

  it('end with exit when the service drains, with all that ran in them', async () => {
    const shell = await open();
    await shell.type(marked('trap "" HUP TERM; echo here-$((1+1)); sleep 8201\r'));
    await shell.sees('here-2');
    await gangway.stop();
    await shell.ends('exit');
    await gangway.start();
    const gone = async (): Promise<boolean> => {
      const { execConsole } = await me.must<{ execConsole: { output: string } }>(
        'mutation($id: ID!) { execConsole(appId: $id, command: "cat /proc/*/cmdline") { output } }',
        { id: app.id },
      );
      return !execConsole.output.includes(`sleep\u00008201.${mark}`);
    };
    await until('what ran is gone', 20_000, gone);
    assert.equal((await shell.back()).code, 'NO_SUCH_SESSION');
  });

  it('end with failure when the runner is lost', async () => {
    const shell = await open();
    await shell.type('echo here-$((1+1))\r');
    await shell.sees('here-2');
    await gangway.killRunner();
    await shell.ends('failure');
    await until('the app runs again', 30_000, async () => {
      return (await me.visit(app.slug)).status === 200;
    });
  });
});

/** A request as a browser makes it: fetch has words of its own for where it comes from. */
function rawGet(
  url: string,
  headers: Record<string, string>,
): Promise<Pick<Answer, 'status' | 'text'>> {
  return new Promise((resolve, reject) => {
    const asking = get(url, { headers, agent: false }, (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (more: string) => (text += more));
      response.once('end', () => {
        resolve({ status: response.statusCode ?? 0, text });
      });
    });
    asking.once('error', reject);
  });
}
