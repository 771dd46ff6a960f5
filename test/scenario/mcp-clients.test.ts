/** The official MCP clients against a whole Gangway: each by an API token, and from the address alone. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { type AppInfo, archiveOf } from '../support/gangway-client.ts';
import { Gangway, until } from '../support/gangway.ts';
import {
  type AgentClient,
  agentClients,
  type AgentSession,
  type CallAnswer,
  type Progress,
  refused,
} from '../support/mcp-clients.ts';

const capabilities = ['view_logs', 'deploy_apps', 'control_apps'];

const page = archiveOf({ 'index.html': 'open' });
/** Until it is cancelled. */
const neverBuilt = { buildCommand: 'sleep 1200', startCommand: 'true' };
const brokenBuild = { buildCommand: 'echo "the shelf is empty" >&2; exit 1', startCommand: 'true' };

let gangway: Gangway;
let url: string;
let token: string;
let app: AppInfo;
let slow: AppInfo;
/** A deployment. */
let failed: string;

before(async () => {
  // One place for each token, so that one that is not given back is missed.
  gangway = await Gangway.open({ env: { GANGWAY_MCP_CALLS_AT_ONCE: '1' } });
  url = `${gangway.url}/api/mcp`;
  token = await gangway.client.token({ capabilities });
  app = await gangway.client.createApp('Shop');
  await gangway.client.mustUpload(app.id, page);
  slow = await gangway.client.createApp('Slow', { build: neverBuilt });
  await gangway.client.mustUpload(slow.id, page);
  const broken = await gangway.client.createApp('Broken', { build: brokenBuild });
  await gangway.client.mustUpload(broken.id, page);
  failed = await gangway.client.redeploy(broken.id);
  assert.equal(await gangway.client.finished(failed), 'failed');
});

after(() => gangway.end());

const yes = (): boolean => true;
const no = (): boolean => false;
const textOf = ({ content }: CallAnswer): string => content.map(({ text }) => text ?? '').join('');

const endingToken = (): Promise<string> =>
  gangway.client.token({ name: 'ending', capabilities: ['view_logs'] });

async function endTokens(): Promise<void> {
  const { apiTokens } = await gangway.client.must<{ apiTokens: { id: string; name: string }[] }>(
    '{ apiTokens { id name } }',
  );
  for (const { id, name } of apiTokens) {
    if (name !== 'ending') continue;
    await gangway.client.must('mutation($id: ID!) { revokeToken(id: $id) }', { id });
  }
}

/** What an agent does first: look around, look closer, and get something wrong. */
async function lookAround(agent: AgentClient, session: AgentSession): Promise<void> {
  assert.equal(session.revision, agent.revision);
  assert.ok(session.serverName);
  const tools = await session.tools();
  const names = tools.map(({ name }) => name);
  for (const name of ['list_teams', 'list_apps', 'get_app', 'deploy_app']) {
    assert.ok(names.includes(name), name);
  }
  assert.ok(!names.includes('delete_app'), 'it was not given that');
  // The clients hold an answer to the schema that was listed with the tool.
  const { teams } = (await session.call('list_teams')).structuredContent as {
    teams: { name: string }[];
  };
  assert.deepEqual(
    teams.map(({ name }) => name),
    ['Home'],
  );
  const list = await session.call('list_apps', { search: 'Shop' });
  const { apps } = list.structuredContent as { apps: { nodes: { id: string }[] } };
  assert.deepEqual(
    apps.nodes.map(({ id }) => id),
    [app.id],
  );
  assert.deepEqual(JSON.parse(textOf(list)), list.structuredContent);
  const got = await session.call('get_app', { appId: app.slug });
  const { app: one } = got.structuredContent as { app: { id: string; name: string } };
  assert.deepEqual({ id: one.id, name: one.name }, { id: app.id, name: 'Shop' });
  await getItWrong(session);
  assert.deepEqual(session.errors, []);
}

async function getItWrong(session: AgentSession): Promise<void> {
  const missing = await session.call('get_app', { appId: 'nowhere' });
  assert.equal(missing.isError, true);
  assert.notEqual(textOf(missing), '');
  const misspelt = await session.call('get_app', { appID: app.id });
  assert.equal(misspelt.isError, true);
  assert.match(textOf(misspelt), /appI[dD]/);
  await assert.rejects(session.call('no_such_tool'), /no_such_tool/);
}

describe('the official MCP clients', () => {
  for (const agent of agentClients()) {
    describe(agent.name, () => {
      it('connects by an API token, lists and calls', async () => {
        const session = await agent.connect(url, token);
        await lookAround(agent, session);
        await session.close();
      });

      it('connects from the address alone, once its person consented', async () => {
        const { session } = await agent.authorize(url, gangway.client);
        const names = (await session.tools()).map(({ name }) => name);
        assert.ok(names.includes('list_apps'));
        const list = await session.call('list_apps');
        assert.match(textOf(list), new RegExp(app.id));
        assert.deepEqual(session.errors, []);
        await session.close();
      });

      it('asks its person for more when a tool needs more, and then may', async () => {
        const grant = await agent.authorize(url, gangway.client, { keep: ['view_logs'] });
        const names = (await grant.session.tools()).map(({ name }) => name);
        assert.ok(!names.includes('stop_app'));
        if (!agent.widens) {
          await assert.rejects(grant.session.call('stop_app', { appId: app.id }), /403/);
          await grant.session.close();
          return;
        }
        await refused(grant.session.call('stop_app', { appId: app.id }));
        await grant.session.close();
        const session = await grant.widened(gangway.client);
        const stopped = await session.call('stop_app', { appId: app.id });
        assert.notEqual(stopped.isError, true, textOf(stopped));
        await session.close();
      });

      it('gets another token by itself when its own is not taken any more', async () => {
        const grant = await agent.authorize(`${url}?readonly=1`, gangway.client);
        await grant.session.close();
        grant.spoil();
        const session = await grant.again();
        for (const { name, annotations } of await session.tools()) {
          assert.equal(annotations?.readOnlyHint, true, name);
        }
        assert.deepEqual(session.errors, []);
        await session.close();
      });

      it('deploys, hears how far it is, and is told the outcome', async () => {
        const session = await agent.connect(url, token);
        // So that the client knows the schemas of the answers.
        await session.tools();
        const steps: Progress[] = [];
        const answer = await session.call(
          'deploy_app',
          { appId: app.id, wait: true },
          { onprogress: (step) => steps.push(step) },
        );
        assert.notEqual(answer.isError, true, textOf(answer));
        assert.match(textOf(answer), /ready/);
        assert.ok(steps.length > 0, 'it was told of progress');
        const numbers = steps.map(({ progress }) => progress);
        assert.deepEqual(
          numbers,
          [...new Set(numbers)].sort((a, b) => a - b),
        );
        assert.deepEqual(session.errors, []);
        await session.close();
      });

      it('reads why a deployment failed', async () => {
        const session = await agent.connect(url, token);
        await session.tools();
        const answer = await session.call('wait_for_deployment', { deploymentId: failed });
        assert.match(textOf(answer), /the shelf is empty/);
        await session.close();
      });

      it('gives its place back when it stops waiting', async () => {
        const id = await gangway.client.redeploy(slow.id);
        const [waiting, other] = [await agent.connect(url, token), await agent.connect(url, token)];
        const stop = new AbortController();
        const heard = Promise.withResolvers<void>();
        const wait = waiting.call(
          'wait_for_deployment',
          { deploymentId: id },
          { signal: stop.signal, onprogress: () => heard.resolve() },
        );
        wait.catch(() => undefined);
        await Promise.race([heard.promise, wait]);
        await assert.rejects(other.call('list_teams'), /429|under way/);
        stop.abort();
        await assert.rejects(wait);
        // Earlier revisions stay connected, for all that they want no answer any more.
        if (agent.revision !== '2026-07-28') await waiting.close();
        await until('its place is free', 10_000, () => other.call('list_teams').then(yes, no));
        await gangway.client.must('mutation($id: ID!) { cancelDeployment(id: $id) }', { id });
        await waiting.close();
        await other.close();
      });

      if (agent.revision !== '2026-07-28') return;
      it('listens until its token ends', async () => {
        const session = await agent.connect(url, await endingToken());
        const quitting = await session.listen!();
        // There is nothing yet that it could be told of.
        assert.deepEqual(quitting.honoredFilter, {});
        await quitting.close();
        assert.equal(await quitting.closed, 'local');
        const staying = await session.listen!();
        await endTokens();
        assert.equal(await staying.closed, 'remote');
        await session.close();
      });
    });
  }

  // The last: nothing serves any more behind it.
  it('tell the end of the service from a fault when they listen', async () => {
    const agent = agentClients().find(({ revision }) => revision === '2026-07-28')!;
    const session = await agent.connect(url, token);
    const listening = await session.listen!();
    await gangway.stop();
    assert.equal(await listening.closed, 'graceful');
    await session.close();
  });
});
