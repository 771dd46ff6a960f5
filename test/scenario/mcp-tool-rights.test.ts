/** What tokens of few rights see of the tools, and what comes of calling the others. */
import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { cleanups } from '../support/cleanups.ts';
import { capabilities } from '../../src/lib/capabilities.ts';
import { inTeam, join, lend, makeFolder, makeRole, userIdOf } from '../support/access-world.ts';
import { archiveOf, type AppInfo, type Client } from '../support/gangway-client.ts';
import { Gangway, until } from '../support/gangway.ts';
import { type McpAnswer, McpClient, textOf } from '../support/mcp-client.ts';
import { freeTools, neededFor } from '../support/mcp-tool-names.ts';

const later = cleanups();
let gangway: Gangway;
let maker: Client;
let mcp: McpClient;
let home: string;
let folderId: string;
/** In the folder. */
let lent: AppInfo;
/** Outside of it. */
let kept: AppInfo;
let slowDeployment: string;

before(async () => {
  gangway = await Gangway.open({ env: { GANGWAY_MCP_CALLS_PER_MINUTE: '100000' } });
  later(() => gangway.end());
  ({ client: maker } = gangway);
  mcp = new McpClient(gangway.url);
  const { viewerTeam } = await maker.must<{ viewerTeam: { id: string } }>('{ viewerTeam { id } }');
  home = viewerTeam.id;
  folderId = await makeFolder(maker, home, 'Lent');
  // Until it is cancelled.
  const build = { buildCommand: 'sleep 1200', startCommand: 'true' };
  lent = await maker.createApp('Lent app', { folderId, build });
  kept = await maker.createApp('Kept app');
  await maker.mustUpload(lent.id, archiveOf({ 'index.html': '' }));
  slowDeployment = await maker.redeploy(lent.id);
  const cancel = 'mutation($id: ID!) { cancelDeployment(id: $id) }';
  later(() => maker.must(cancel, { id: slowDeployment }));
});

/** A token of somebody whose role holds this and what MCP takes; by default it was given all of it. */
async function tokenOf(
  name: string,
  held: readonly string[],
  input: Record<string, unknown> = {},
): Promise<{ token: string; client: Client }> {
  const role = [...held, 'manage_mcp', 'manage_tokens'];
  const client = await join(gangway, home, await makeRole(maker, home, name, role), name);
  return { token: await client.token({ capabilities: role, ...input }), client };
}

const names = async (token: string, query?: string): Promise<string[]> =>
  (await mcp.tools(token, query === undefined ? {} : { query })).map(({ name }) => name).toSorted();

const toolsFor = (...held: string[]): string[] =>
  [...freeTools, ...held.flatMap((one) => neededFor[one] ?? [])].toSorted();

function argsOf(tool: string, appId: string): Record<string, unknown> {
  const named: Record<string, Record<string, unknown>> = {
    create_app: { name: 'New', source: 'UPLOAD' },
    // Refused for want of a server, once the right to it is known.
    create_database: { name: 'New', engine: 'MONGODB' },
    cancel_deployment: { deploymentId: slowDeployment },
    set_env: { appId, key: 'KEY', value: 'value' },
    delete_env: { appId, key: 'KEY' },
  };
  return named[tool] ?? { appId };
}

/** Whether the caller was refused for lack of a right, in whichever way. */
function isRefused(answer: McpAnswer): boolean {
  const { status, result, headers } = answer;
  if (status === 403) {
    assert.match(headers.get('www-authenticate') ?? '', /error="insufficient_scope", scope="/);
    return true;
  }
  return result?.isError === true && /\((FORBIDDEN|NOT_FOUND)\)|no such/.test(textOf(answer));
}

async function assertHolds(token: string, appId: string, held: readonly string[]): Promise<void> {
  assert.deepEqual(await names(token), toolsFor(...held));
  for (const [capability, tools] of Object.entries(neededFor)) {
    // What is gone, or runs, would be in the way of the next.
    if (held.includes(capability) && ['delete_apps', 'deploy_apps'].includes(capability)) continue;
    for (const tool of tools) {
      const answer = await mcp.call(token, tool, argsOf(tool, appId));
      assert.equal(isRefused(answer), !held.includes(capability), `${tool} ${answer.body}`);
    }
  }
}

describe('the tools of a token', () => {
  it('are those its owner can call, who may only look', async () => {
    const { token } = await tokenOf('looker', ['view_logs']);
    await assertHolds(token, kept.id, ['view_logs']);
  });

  it('are those it was given, whatever its owner can do', async () => {
    const token = await maker.token({ capabilities: ['view_logs', 'manage_env', 'control_apps'] });
    await assertHolds(token, kept.id, ['view_logs', 'manage_env', 'control_apps']);
    await assertHolds(await maker.token({}), kept.id, []);
  });

  it('are those its owner was lent in one folder, and work there alone', async () => {
    const held = ['create_apps', 'manage_env'];
    const { client } = await tokenOf('guest', []);
    await lend(maker, folderId, await userIdOf(client), [...held, 'manage_mcp', 'manage_tokens']);
    const token = await client.token({ capabilities: ['manage_mcp'] });
    assert.deepEqual(await names(token), toolsFor());
    const wide = await maker.token({ capabilities: held, folderIds: [folderId] });
    assert.deepEqual(await names(wide), toolsFor(...held));
    const { env } = await mcp.must<{ env: [] }>(wide, 'list_env', { appId: lent.id });
    assert.deepEqual(env, []);
    for (const [tool, args] of Object.entries({
      list_env: { appId: kept.slug },
      get_app: { appId: kept.id },
      list_deployments: { appId: kept.id },
      set_env: { appId: kept.id, key: 'A', value: 'b' },
    })) {
      assert.match(await mcp.fails(wide, tool, args), /[Nn]o such app/, tool);
    }
    const { apps } = await mcp.must<{ apps: { nodes: AppInfo[]; totalCount: number } }>(wide, 'list_apps'); // prettier-ignore
    assert.deepEqual([apps.nodes.map(({ id }) => id), apps.totalCount], [[lent.id], 1]);
    const { results } = await mcp.must<{ results: [] }>(wide, 'search', { text: 'kept' });
    assert.deepEqual(results, []);
  });

  it('reach the one app it is for', async () => {
    const held = ['control_apps', 'view_logs'];
    const token = await maker.token({ capabilities: held, appIds: [kept.id] });
    await assertHolds(token, kept.id, held);
    for (const tool of ['get_app', 'list_deployments', 'read_logs', 'stop_app']) {
      assert.match(await mcp.fails(token, tool, { appId: lent.id }), /[Nn]o such app/, tool);
      assert.match(await mcp.fails(token, tool, { appId: lent.slug }), /[Nn]o such app/, tool);
    }
    const deploymentId = slowDeployment;
    for (const tool of ['get_deployment', 'get_deployment_log', 'wait_for_deployment']) {
      assert.match(await mcp.fails(token, tool, { deploymentId }), /[Nn]o such deployment/, tool);
    }
  });

  it('change nothing where the address says so, whatever the token', async () => {
    const token = await maker.token({ capabilities });
    const query = 'readonly=1';
    const tools = await mcp.tools(token, { query });
    assert.deepEqual(
      tools.map(({ name }) => name).toSorted(),
      [
        ...freeTools.filter((name) => name !== 'graphql_mutate'),
        'read_logs',
        'list_env',
      ].toSorted(),
    );
    assert.ok(tools.every(({ annotations }) => annotations['readOnlyHint'] === true));
    const answer = await mcp.call(token, 'stop_app', { appId: kept.id }, { query });
    assert.equal(answer.fault?.code, -32602);
    const mutation = { query: 'mutation { logout }' };
    const sent = await mcp.call(token, 'graphql_query', mutation, { query });
    assert.equal(sent.result?.isError, true);
  });

  it('do not find what is in trash', async () => {
    const token = await maker.token({ capabilities });
    const { id: appId, slug } = await maker.createApp('Gone');
    await maker.mustUpload(appId, archiveOf({ 'notes.txt': '' }));
    const deploymentId = await maker.redeploy(appId);
    await maker.finished(deploymentId);
    await mcp.must(token, 'delete_app', { appId });
    for (const tool of [
      'get_app',
      'list_env',
      'read_logs',
      'deploy_app',
      'start_app',
      'rollback_app',
      'delete_app',
    ]) {
      // prettier-ignore
      for (const named of [appId, slug]) {
        assert.match(await mcp.fails(token, tool, { appId: named }), /[Nn]o such/, tool);
      }
    }
    for (const tool of [
      'get_deployment',
      'get_deployment_log',
      'wait_for_deployment',
      'cancel_deployment',
    ]) {
      // prettier-ignore
      assert.match(await mcp.fails(token, tool, { deploymentId }), /[Nn]o such (app|deployment)/, tool);
    }
    assert.deepEqual(await mcp.must(token, 'search', { text: 'gone' }), { results: [], more: 0 });
  });
});

describe('the team of a call', () => {
  let other: { id: string; slug: string };
  let theirs: string;

  before(async () => {
    ({ createTeam: other } = await maker.must<{ createTeam: typeof other }>(
      'mutation { createTeam(name: "Other") { id slug } }',
    ));
    const { createApp } = await maker.must<{ createApp: AppInfo }>(
      'mutation { createApp(input: { name: "Theirs", source: UPLOAD }) { id } }',
      {},
      inTeam(other.id),
    );
    theirs = createApp.id;
  });

  const idsIn = async (
    token: string,
    args: object,
    headers: Record<string, string> = {},
  ): Promise<string[]> => {
    const answer = await mcp.call(token, 'list_apps', { ...args }, { headers });
    const { apps } = answer.result?.structuredContent as { apps: { nodes: AppInfo[] } };
    return apps.nodes.map(({ id }) => id);
  };

  it('is named by id, by slug, or for all calls in a header', async () => {
    const token = await maker.token({ capabilities, teamIds: [home, other.id] });
    for (const team of [other.id, other.slug]) {
      assert.deepEqual(await idsIn(token, { team }), [theirs]);
      assert.deepEqual(await idsIn(token, {}, inTeam(team)), [theirs]);
      assert.deepEqual(await idsIn(token, { team: home }, inTeam(team)), await idsIn(token, {}));
    }
    assert.ok((await idsIn(token, {})).includes(kept.id), 'its first team');
    assert.match(textOf(await mcp.call(token, 'list_teams')), /"slug":"other"/);
  });

  it('is none that the token is not in', async () => {
    const token = await maker.token({ capabilities, teamIds: [home] });
    for (const team of [other.id, other.slug, 'nowhere']) {
      const sentence = await mcp.fails(token, 'list_apps', { team });
      assert.equal(sentence, `There is no team ${team} here; list_teams names yours.`);
      const { status } = await mcp.call(token, 'list_apps', {}, { headers: inTeam(team) });
      assert.equal(status, 403);
    }
    assert.match(await mcp.fails(token, 'get_app', { appId: theirs }), /no such app/);
    assert.doesNotMatch(textOf(await mcp.call(token, 'list_teams')), /other/);
  });

  it('has MCP switched on, or every call is 403', async () => {
    const token = await maker.token({ capabilities, teamIds: [home, other.id] });
    const settings = 'mutation($on: Boolean!) { setMcpSettings(enabled: $on) { enabled } }';
    await maker.must(settings, { on: false }, inTeam(other.id));
    for (const answer of [
      await mcp.call(token, 'list_apps', { team: other.slug }),
      await mcp.call(token, 'list_apps', {}, { headers: inTeam(other.id) }),
    ]) {
      assert.equal(answer.status, 403);
      assert.match(answer.body, /"code":"MCP_DISABLED"/);
    }
    assert.equal((await mcp.call(token, 'list_apps')).status, 200);
    assert.doesNotMatch(textOf(await mcp.call(token, 'list_teams')), /other/);
    await maker.must(settings, { on: true }, inTeam(other.id));
    assert.deepEqual(await idsIn(token, { team: other.slug }), [theirs]);
  });
});

describe('wait_for_deployment', () => {
  const isBuilding = async (): Promise<boolean> =>
    (await maker.deployment(slowDeployment))?.status === 'building';
  const args = () => ({ deploymentId: slowDeployment, timeoutSeconds: 50 });

  /** Requests not over, on all threads. */
  async function inFlight(): Promise<number> {
    const { text } = await gangway.client.ask('/metrics');
    return Number(/^gangway_http_in_flight (\d+)/m.exec(text)?.[1]);
  }

  /** Waits in both ways until `lose`; the answers. */
  async function waitUntil(token: string, lose: () => Promise<unknown>): Promise<McpAnswer[]> {
    await until('it builds', 10_000, isBuilding);
    const before = await inFlight();
    const answers = Promise.all([
      mcp.call(token, 'wait_for_deployment', args()),
      mcp.call(token, 'wait_for_deployment', args(), { progressToken: 1 }),
    ]);
    await until('both are under way', 10_000, async () => (await inFlight()) >= before + 2);
    // Whatever thread has them is done with their heads and bodies when it has answered once more.
    await inFlight();
    await lose();
    const both = await answers;
    assert.ok(await isBuilding(), 'it did not wait for the end of the build');
    return both;
  }

  it('ends when its token is revoked', async () => {
    const { token, client } = await tokenOf('revoked', [], { name: 'to revoke' });
    const { apiTokens } = await client.must<{ apiTokens: { id: string; name: string }[] }>(
      '{ apiTokens { id name } }',
    );
    const id = apiTokens.find(({ name }) => name === 'to revoke')?.id;
    const answers = await waitUntil(token, () => client.must('mutation($id: ID!) { revokeToken(id: $id) }', { id })); // prettier-ignore
    for (const { result, body } of answers) {
      assert.equal(result?.isError, true, body);
      assert.doesNotMatch(body, /building.*finishedAt/);
    }
    assert.equal((await mcp.call(token, 'list_apps')).status, 401);
  });

  it('ends when its owner leaves the team', async () => {
    const { token, client } = await tokenOf('leaver', []);
    const userId = await userIdOf(client);
    const remove = 'mutation($userId: ID!) { removeMember(userId: $userId) }';
    const answers = await waitUntil(token, () => maker.must(remove, { userId }));
    for (const { result, body } of answers) assert.equal(result?.isError, true, body);
  });
});
