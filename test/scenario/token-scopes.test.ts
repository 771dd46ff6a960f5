/** How far API tokens reach, as programs meet it: teams, folders, apps, expiry, tokens of tokens. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { before, describe, it } from 'node:test';
import { inTeam, join as joinTeam, makeFolder, roleNamed } from '../support/access-world.ts';
import { cleanups } from '../support/cleanups.ts';
import type { AppInfo, Client } from '../support/gangway-client.ts';
import { Gangway, until } from '../support/gangway.ts';
import { hourMs, minuteMs, TimeMachine } from '../support/time-machine.ts';

const create =
  'mutation($input: CreateTokenInput!) { createToken(input: $input) { secret token { id allTeams teamIds folderIds appIds } } }';

interface Made {
  createToken: {
    secret: string;
    token: { id: string; allTeams: boolean; teamIds: string[]; folderIds: string[] };
  };
}

describe('API tokens', () => {
  const later = cleanups();
  let gangway: Gangway;
  let time: TimeMachine;
  let owner: Client;
  let program: Client;
  let home: string;
  let second: string;
  let outer: string;
  let inner: string;
  let app: AppInfo;
  let other: AppInfo;

  before(async () => {
    const folder = mkdtempSync(join(tmpdir(), 'gangway-scopes-'));
    later(() => {
      rmSync(folder, { recursive: true, force: true });
    });
    time = new TimeMachine(join(folder, 'time'));
    // Gateway threads would see a jump at moments of their own.
    gangway = await Gangway.open(time.options({ GANGWAY_GATEWAY_THREADS: '1' }));
    later(() => gangway.end());
    owner = gangway.client;
    program = gangway.stranger();
    home = (await owner.must<{ viewerTeam: { id: string } }>('{ viewerTeam { id } }')).viewerTeam
      .id;
    const made = await owner.must<{ createTeam: { id: string } }>(
      'mutation { createTeam(name: "Second") { id } }',
    );
    second = made.createTeam.id;
    outer = await makeFolder(owner, home, 'Outer');
    inner = await makeFolder(owner, home, 'Inner', outer);
    app = await owner.createApp('In', { folderId: inner });
    other = await owner.createApp('Beside');
  });
  const bearer = (secret: string): Record<string, string> => ({
    authorization: `Bearer ${secret}`,
  });
  const seen = async (secret: string, headers: Record<string, string> = {}): Promise<string[]> => {
    const { apps } = await program.must<{ apps: { nodes: { slug: string }[] } }>(
      '{ apps { nodes { slug } } }',
      {},
      { ...bearer(secret), ...headers },
    );
    return apps.nodes.map(({ slug }) => slug);
  };

  it('reach the teams, folders and apps they name, and all teams when they name none', async () => {
    assert.deepEqual(await seen(await owner.token({})), ['in', 'beside']);
    assert.deepEqual(await seen(await owner.token({}), inTeam(second)), []);
    assert.deepEqual(await seen(await owner.token({ folderIds: [outer] })), ['in']);
    assert.deepEqual(await seen(await owner.token({ appIds: [other.id] })), ['beside']);
    assert.deepEqual(await seen(await owner.token({ folderIds: [inner], appIds: [other.id] })), [
      'in',
      'beside',
    ]);
    const ofSecond = await owner.token({ teamIds: [second] });
    assert.deepEqual(await seen(ofSecond), []);
    assert.equal(
      await program.fails(`mutation { stopApp(id: "${app.id}") { id } }`, {}, bearer(ofSecond)),
      'NOT_FOUND',
    );
    const { status, errors } = await program.graphql(
      '{ apps { totalCount } }',
      {},
      { ...bearer(ofSecond), ...inTeam(home) },
    );
    assert.deepEqual([status, errors[0]?.extensions.code ?? 'FORBIDDEN'], [403, 'FORBIDDEN']);
  });

  it('know their acting team by its id and by its slug', async () => {
    const secret = await owner.token({});
    for (const team of [second, 'second']) {
      const { viewerTeam } = await program.must<{ viewerTeam: { id: string } }>(
        '{ viewerTeam { id } }',
        {},
        { ...bearer(secret), ...inTeam(team) },
      );
      assert.equal(viewerTeam.id, second);
    }
    const named = await program.graphql(
      '{ me { id } }',
      {},
      { ...bearer(secret), ...inTeam('none') },
    );
    assert.equal(named.status, 403);
  });

  it('are made only for what exists and lies ahead', async () => {
    for (const [input, code] of [
      [{ expiresAt: '2020-01-01T00:00:00.000Z' }, 'BAD_USER_INPUT'],
      [{ databaseIds: ['db_none'] }, 'NOT_FOUND'],
      [{ folderIds: ['fld_none'] }, 'NOT_FOUND'],
      [{ appIds: ['app_none'] }, 'NOT_FOUND'],
      [{ teamIds: ['team_none'] }, 'NOT_FOUND'],
      [{ name: ' ' }, 'BAD_USER_INPUT'],
    ] as const) {
      assert.equal(await owner.fails(create, { input: { name: 'ci', ...input } }), code);
    }
  });

  it('are no good once they have expired, whatever they are shown to', async () => {
    const expiresAt = new Date(time.now() + hourMs).toISOString();
    const secret = await owner.token({ expiresAt });
    await program.must('{ me { id } }', {}, bearer(secret));
    await time.jump(hourMs + minuteMs);
    const { status } = await program.graphql('{ me { id } }', {}, bearer(secret));
    assert.equal(status, 401);
    const hook = await program.ask(await owner.hookPath(app.id), {
      method: 'POST',
      headers: bearer(secret),
    });
    assert.equal(hook.status, 401);
  });

  it('make tokens that stay within their own scope, capabilities and time', async () => {
    const held = ['manage_tokens', 'deploy_apps'];
    const expiresAt = new Date(time.now() + hourMs).toISOString();
    const maker = bearer(await owner.token({ capabilities: held, teamIds: [home], expiresAt }));
    const make = (input: object) => ({ input: { name: 'child', expiresAt, ...input } });
    const { createToken } = await program.must<Made>(
      create,
      make({ capabilities: ['deploy_apps'], folderIds: [outer] }),
      maker,
    );
    assert.deepEqual([createToken.token.allTeams, createToken.token.folderIds], [false, [outer]]);
    assert.deepEqual(await seen(createToken.secret), ['in']);
    for (const [input, code] of [
      [{}, 'FORBIDDEN'],
      [{ teamIds: [second] }, 'NOT_FOUND'],
      [{ teamIds: [home], capabilities: ['delete_apps'] }, 'FORBIDDEN'],
      [{ teamIds: [home], expiresAt: null }, 'FORBIDDEN'],
    ] as const) {
      assert.equal(await program.fails(create, make(input), maker), code, JSON.stringify(input));
    }
    const wide = bearer(await owner.token({ capabilities: held }));
    const all = await program.must<Made>(create, { input: { name: 'child' } }, wide);
    assert.equal(all.createToken.token.allTeams, true);
  });

  it('lose what their owner loses, and all of it with the membership', async () => {
    const person = await joinTeam(gangway, home, await roleNamed(owner, home, 'Member'), 'leaver');
    const secret = await person.token({ capabilities: ['manage_env'] });
    const env = `{ env(appId: "${app.id}") { key } }`;
    await program.must(env, {}, bearer(secret));
    const { me } = await person.must<{ me: { id: string } }>('{ me { id } }');
    await owner.must(
      'mutation($u: ID!, $r: ID!) { updateMember(userId: $u, roleId: $r) { userId } }',
      {
        u: me.id,
        r: await roleNamed(owner, home, 'Viewer'),
      },
    );
    assert.equal(await program.fails(env, {}, bearer(secret)), 'FORBIDDEN');
    await owner.must('mutation($id: ID!) { removeMember(userId: $id) }', { id: me.id });
    assert.notEqual(await program.fails(env, {}, bearer(secret)), undefined);
    assert.equal(await person.fails(env), 'NOT_FOUND');
  });

  it('whose scope is gone say so over GraphQL, the hook and MCP, and in the list', async () => {
    const { id, slug } = await owner.createApp('Brief');
    const hookPath = await owner.hookPath(id);
    const otherHook = await owner.hookPath(other.id);
    const { createToken } = await owner.must<Made>(create, {
      input: { name: 'for Brief', appIds: [id], capabilities: ['deploy_apps', 'manage_tokens'] },
    });
    const headers = bearer(createToken.secret);
    const isGone = async (): Promise<boolean | undefined> => {
      const { apiTokens } = await owner.must<{ apiTokens: { id: string; scopeGone: boolean }[] }>(
        '{ apiTokens { id scopeGone } }',
      );
      return apiTokens.find((token) => token.id === createToken.token.id)?.scopeGone;
    };
    assert.deepEqual([await seen(createToken.secret), await isGone()], [[slug], false]);
    await owner.must('mutation($id: ID!) { deleteApp(id: $id) }', { id });
    assert.equal(await isGone(), true);
    for (const [query, team] of [
      ['{ apps { totalCount } }', {}],
      [`{ app(id: "${other.id}") { id } }`, {}],
      ['{ me { id } }', inTeam(home)],
      [`mutation { redeploy(appId: "${id}") { id } }`, {}],
    ] as const) {
      const { status, errors } = await program.graphql(query, {}, { ...headers, ...team });
      assert.deepEqual([status, errors[0]?.extensions.code], [403, 'TOKEN_SCOPE_GONE'], query);
      assert.match(errors[0]?.message ?? '', /^All that this API token was made for is deleted/);
    }
    // What else there is, and what there is not, answers alike.
    const json = { 'content-type': 'application/json' };
    const body = '{"jsonrpc":"2.0","id":1,"method":"tools/list"}';
    for (const [path, init] of [
      [hookPath, {}],
      [otherHook, {}],
      [hookPath.replace(id, 'app_none'), {}],
      ['/api/mcp', { body }],
    ] as const) {
      const { status, text } = await program.ask(path, {
        method: 'POST',
        headers: { ...headers, ...json },
        ...init,
      });
      const { code } = JSON.parse(text) as { code?: string };
      assert.deepEqual([status, code], [403, 'TOKEN_SCOPE_GONE'], path);
    }
    const { trash } = await owner.must<{ trash: { id: string; name: string }[] }>(
      '{ trash { id name } }',
    );
    const entry = trash.find(({ name }) => name === 'Brief')?.id;
    await owner.must('mutation($id: ID!) { restoreFromTrash(id: $id) }', { id: entry });
    assert.deepEqual([await seen(createToken.secret), await isGone()], [[slug], false]);
  });

  it('are refused where only the cookie counts, also beside a good cookie', async () => {
    const secret = await owner.token({ capabilities: ['view_logs', 'deploy_apps'] });
    for (const [method, path] of [
      ['GET', `/api/apps/${app.id}/logs`],
      ['DELETE', `/api/apps/${app.id}/logs?sessionId=none`],
      ['POST', `/api/apps/${app.id}/upload`],
      ['GET', '/api/databases/db_none/logs'],
    ] as const) {
      for (const client of [program, owner]) {
        const { status, text } = await client.ask(path, { method, headers: bearer(secret) });
        assert.deepEqual(
          [status, (JSON.parse(text) as { code: string }).code],
          [401, 'COOKIE_REQUIRED'],
        );
      }
    }
  });

  it('show when they were last used, a little later', async () => {
    const { createToken } = await owner.must<Made>(create, { input: { name: 'used' } });
    await seen(createToken.secret);
    await time.jump(minuteMs);
    await until('its use is written', 20_000, async () => {
      const { apiTokens } = await owner.must<{ apiTokens: { id: string; lastUsedAt: string }[] }>(
        '{ apiTokens { id lastUsedAt } }',
      );
      return apiTokens.some(({ id, lastUsedAt }) => id === createToken.token.id && lastUsedAt);
    });
  });
});
