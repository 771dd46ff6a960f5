/**
 * What is good for a time, or kept for one: shown by jumping there. `test/support/time-travel.ts` moves
 * the time of the service on; the tests come in the order of their jumps.
 */
import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { ConsoleClient } from '../support/console-client.ts';
import { servingArchive } from '../support/console-place.ts';
import type { AppInfo, Client } from '../support/gangway-client.ts';
import { Gangway, until } from '../support/gangway.ts';
import { LogTail } from '../support/log-tail.ts';
import * as oauth from '../support/oauth.ts';
import { dayMs, hourMs, minuteMs, secondMs, TimeMachine } from '../support/time-machine.ts';

const patienceMs = 20_000;
const pings = (stream: LogTail): number =>
  stream.parser.comments.filter((one) => one === 'ping').length;

describe('time', () => {
  const folder = mkdtempSync(join(tmpdir(), 'gangway-times-'));
  const time = new TimeMachine(join(folder, 'time'));
  let gangway: Gangway;
  let client: Client;
  let app: AppInfo;
  let clientId: string;
  before(async () => {
    // Gateway threads would see a jump at moments of their own.
    gangway = await Gangway.open(time.options({ GANGWAY_GATEWAY_THREADS: '1' }));
    client = gangway.client;
    app = await client.runningApp('Timely', servingArchive);
    clientId = (await oauth.register(gangway.url)).body.client_id;
  });
  after(async () => {
    try {
      await gangway.end();
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  });
  const accept = (token: string): Promise<string | undefined> =>
    client.fails('mutation($token: String!) { acceptInvite(token: $token) { viewer { id } } }', {
      token,
    });
  const wrongInvite = (): Promise<string | undefined> => accept('A'.repeat(43));

  it('sends a comment on consoles and log streams every 15 seconds', async (t) => {
    const console = await ConsoleClient.open(client, `/api/apps/${app.id}/attach`);
    t.after(() => console.delete());
    const logs = new LogTail(`${gangway.url}/api/apps/${app.id}/logs`, { cookie: client.cookie });
    t.after(() => {
      logs.close();
    });
    await until('the session', patienceMs, () => logs.sessionId !== '');
    for (let round = 1; round <= 2; round++) {
      const before = [console.stream, logs].map(pings);
      const quiet = (): boolean =>
        [console.stream, logs].some((stream, i) => pings(stream) === before[i]);
      // In small steps: pings of many streams are spread over the seconds.
      for (let second = 0; second < 16 && quiet(); second++) await time.jump(secondMs);
      await until('a comment on both', patienceMs, () => !quiet());
    }
  });

  it('redeems a code within its minute and not after it', async () => {
    const soon = await oauth.authorized(client, clientId);
    await time.jump(30 * secondMs);
    await oauth.tokensOf(soon.redeem());
    const late = await oauth.authorized(client, clientId);
    await time.jump(70 * secondMs);
    const { status, body } = await late.redeem();
    assert.deepEqual([status, body['error']], [400, 'invalid_grant']);
  });

  it('takes an access token for an hour, and then a new one for its refresh token', async () => {
    const { redeem } = await oauth.authorized(client, clientId);
    const { body } = await redeem();
    assert.equal(body['expires_in'], hourMs / secondMs);
    const tokens = body as unknown as oauth.Tokens;
    await time.jump(50 * minuteMs);
    assert.equal(await oauth.works(gangway, tokens.access_token), true);
    await time.jump(11 * minuteMs);
    assert.equal(await oauth.works(gangway, tokens.access_token), false);
    const form = {
      grant_type: 'refresh_token',
      client_id: clientId,
      refresh_token: tokens.refresh_token,
    };
    const renewed = await oauth.tokensOf(oauth.post(gangway.url, 'token', form));
    assert.equal(await oauth.works(gangway, renewed.access_token), true);
  });

  it('refuses an API token that was used and remembered before it expired', async () => {
    const expiresAt = new Date(time.now() + hourMs).toISOString();
    const secret = await client.token({ expiresAt, capabilities: ['view_logs'] });
    await time.jump(30 * minuteMs);
    assert.equal(await oauth.works(gangway, secret), true);
    await time.jump(31 * minuteMs);
    assert.equal(await oauth.works(gangway, secret), false);
  });

  it('takes 30 wrong invites of one network in 15 minutes', async () => {
    for (let i = 0; i < 30; i++) assert.equal(await wrongInvite(), 'NOT_FOUND');
    assert.equal(await wrongInvite(), 'RATE_LIMITED');
    await time.jump(16 * minuteMs);
    assert.equal(await wrongInvite(), 'NOT_FOUND');
  });

  it('keeps an app and a database in trash for 7 days, and removes them for ever', async () => {
    const { createDatabase: database } = await client.must<{ createDatabase: { id: string } }>(
      'mutation { createDatabase(input: { name: "Past", engine: POSTGRES }) { id } }',
    );
    await client.must('mutation($id: ID!) { deleteApp(id: $id) }', { id: app.id });
    await client.must('mutation($id: ID!) { deleteDatabase(id: $id) }', database);
    const inTrash = async (): Promise<[string, number][]> => {
      const { trash } = await client.must<{
        trash: { kind: string; deletedAt: string; purgeAt: string }[];
      }>('{ trash { kind deletedAt purgeAt } }');
      const daysOf = (from: string, to: string): number =>
        (Date.parse(to) - Date.parse(from)) / dayMs;
      return trash
        .map(({ kind, deletedAt, purgeAt }): [string, number] => [kind, daysOf(deletedAt, purgeAt)])
        .sort();
    };
    const home = join(gangway.dataDir, 'apps', app.id);
    await time.jump(6 * dayMs);
    const both = [
      ['app', 7],
      ['database', 7],
    ];
    assert.deepEqual(await inTrash(), both);
    assert.ok(existsSync(home));
    await time.jump(dayMs + minuteMs);
    client = await gangway.signIn();
    await until('trash is empty', patienceMs, async () => (await inTrash()).length === 0);
    await until('its files are gone', patienceMs, () => !existsSync(home));
    const restore = 'mutation($id: ID!) { restoreFromTrash(id: $id) }';
    assert.equal(await client.fails(restore, { id: app.id }), 'NOT_FOUND');
  });

  it('takes an invite for 7 days', async () => {
    const { roles } = await client.must<{ roles: { id: string; name: string }[] }>(
      '{ roles { id name } }',
    );
    const invite = async (email: string): Promise<string> => {
      const { inviteMember } = await client.must<{ inviteMember: string }>(
        'mutation($email: String!, $roleId: ID!) { inviteMember(email: $email, roleId: $roleId) }',
        { email, roleId: roles[0]?.id },
      );
      return inviteMember.slice(inviteMember.lastIndexOf('/') + 1);
    };
    const [first, second] = [await invite('a@example.org'), await invite('b@example.org')];
    const join = async (token: string): Promise<string | undefined> =>
      gangway.stranger().fails(
        `mutation($token: String!) {
          acceptInvite(token: $token, name: "A", password: "correct horse") { viewer { id } } }`,
        { token },
      );
    await time.jump(7 * dayMs - minuteMs);
    assert.equal(await join(first), undefined);
    await time.jump(2 * minuteMs);
    assert.equal(await join(second), 'NOT_FOUND');
  });
});
