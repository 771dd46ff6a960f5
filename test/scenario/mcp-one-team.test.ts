/** A call over MCP runs in one team: ids of another one name nothing, whoever asks. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { capabilities } from '../../src/lib/capabilities.ts';
import { inTeam, makeFolder } from '../support/access-world.ts';
import type { AppInfo, Client } from '../support/gangway-client.ts';
import { archiveOf } from '../support/gangway-client.ts';
import { Gangway } from '../support/gangway.ts';
import { McpClient, textOf } from '../support/mcp-client.ts';

const secret = 'zebrafinch quokka';

let gangway: Gangway;
let owner: Client;
let mcp: McpClient;
/** Of both teams, acting in the first unless it names one. */
let token: string;
let other: string;
/** In the other team. */
let app: AppInfo;
let folderId: string;
let deploymentId: string;

before(async () => {
  gangway = await Gangway.open({ env: { GANGWAY_MCP_CALLS_PER_MINUTE: '100000' } });
  owner = gangway.client;
  mcp = new McpClient(gangway.url);
  const { createTeam } = await owner.must<{ createTeam: { id: string } }>(
    'mutation { createTeam(name: "Other") { id } }',
  );
  other = createTeam.id;
  await setMcp(true, {});
  await setMcp(true);
  folderId = await makeFolder(owner, other, 'Things');
  ({ createApp: app } = await owner.must<{ createApp: AppInfo }>(
    'mutation($input: CreateAppInput!) { createApp(input: $input) { id slug name } }',
    {
      input: {
        name: 'Their app',
        source: 'UPLOAD',
        folderId,
        env: [{ key: 'PLAIN', value: secret }],
        build: { buildCommand: 'echo "it is $PLAIN"; false' },
      },
    },
    inTeam(other),
  ));
  await owner.mustUpload(app.id, archiveOf({ 'index.html': '' }));
  deploymentId = await owner.redeploy(app.id);
  await owner.finished(deploymentId);
  token = await owner.token({ capabilities });
});

after(() => gangway.end());

const setMcp = (enabled: boolean, headers = inTeam(other)): Promise<unknown> =>
  owner.must(`mutation { setMcpSettings(enabled: ${String(enabled)}) { enabled } }`, {}, headers);

const ofApp = [
  'get_app', 'list_deployments', 'read_logs', 'list_env', 'restart_app', 'stop_app', 'deploy_app',
  'rollback_app', 'delete_app',
]; // prettier-ignore
const ofDeployment = ['get_deployment', 'get_deployment_log', 'wait_for_deployment', 'cancel_deployment']; // prettier-ignore

async function assertOutOfReach(): Promise<void> {
  for (const tool of ofApp) {
    for (const appId of [app.id, app.slug]) {
      assert.match(await mcp.fails(token, tool, { appId }), /no such (app|earlier release)/i, tool);
    }
  }
  for (const tool of ofDeployment) {
    assert.match(await mcp.fails(token, tool, { deploymentId }), /no such (deployment|app)/i, tool);
  }
  for (const text of [app.id, deploymentId, 'Their app']) {
    const { results } = await mcp.must<{ results: unknown[] }>(token, 'search', { text });
    assert.deepEqual(results, []);
  }
  const query = `query($id: ID!, $dpl: ID!) { app(id: $id) { name } deployment(id: $dpl) { id } }`;
  const variables = { id: app.id, dpl: deploymentId };
  const read = await mcp.must<{ data: unknown }>(token, 'graphql_query', { query, variables });
  assert.deepEqual(read.data, { app: null, deployment: null });
  const changes = [
    `updateApp(id: "${app.id}", name: "Mine") { id }`,
    `upsertEnv(appId: "${app.id}", entries: [{ key: "PLAIN", value: "x" }]) { key }`,
    `redeploy(appId: "${app.id}") { id }`,
    `deleteFolder(id: "${folderId}")`,
    `createApp(input: { name: "Inside", source: UPLOAD, folderId: "${folderId}" }) { id }`,
  ];
  for (const change of changes) {
    const asked = { query: `mutation { ${change} }` };
    assert.match(await mcp.fails(token, 'graphql_mutate', asked), /NOT_FOUND/, change);
  }
}

describe('an agent with a token for two teams', () => {
  it('reaches the other one by naming it, and no secret of it shows', async () => {
    const { app: found } = await mcp.must<{ app: AppInfo }>(token, 'get_app', {
      appId: app.id,
      team: other,
    });
    assert.equal(found.id, app.id);
    const log = await mcp.call(token, 'get_deployment_log', { deploymentId, team: other });
    assert.match(textOf(log), /it is \[redacted: variable PLAIN\]/);
    const query = `{ deployment(id: "${deploymentId}") { logTail { nodes { text } } } myTeams { id } }`;
    const asked = await mcp.call(token, 'graphql_query', { query, team: other });
    assert.match(asked.body, /it is \[redacted: variable PLAIN\]/);
    assert.ok(asked.body.includes(other));
    assert.ok(!(log.body + asked.body).includes(secret));
  });

  it('finds nothing of it by an id, where it does not name it', async () => {
    await assertOutOfReach();
  });

  it('finds nothing of it where MCP is switched off there, not even its name', async () => {
    await setMcp(false);
    try {
      await assertOutOfReach();
      const named = await mcp.call(token, 'get_app', { appId: app.id, team: other });
      assert.equal(named.status, 403);
      const { data } = await mcp.must<{ data: { myTeams: { id: string }[] } }>(
        token,
        'graphql_query',
        { query: '{ myTeams { id } }' },
      );
      assert.ok(data.myTeams.length > 0);
      assert.ok(data.myTeams.every(({ id }) => id !== other));
    } finally {
      await setMcp(true);
    }
  });
});
