/** What an agent does all day by the tools: list, read logs, deploy, wait, read why it failed, fix it. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { capabilities } from '../../src/lib/capabilities.ts';
import { makeDestination, type Run } from '../support/backups-over-graphql.ts';
import { type AppInfo, archiveOf } from '../support/gangway-client.ts';
import { Gangway, until } from '../support/gangway.ts';
import { type AskOptions, McpClient, misfits, textOf, toldBy } from '../support/mcp-client.ts';
import { say, talker } from '../support/talker.ts';

interface Deployment {
  id: string;
  status: string;
  trigger: string;
  error: string | null;
  canRollback?: boolean;
}

let gangway: Gangway;
let token: string;
let mcp: McpClient;
let outputs: Map<string, object | undefined>;
let talking: AppInfo;

before(async () => {
  gangway = await Gangway.open({ env: { GANGWAY_MCP_CALLS_PER_MINUTE: '100000' } });
  mcp = new McpClient(gangway.url);
  token = await gangway.client.token({ capabilities });
  outputs = new Map((await mcp.tools(token)).map((tool) => [tool.name, tool.outputSchema]));
  talking = await gangway.client.createApp('Talking');
  await gangway.client.mustUpload(talking.id, talker);
});

after(() => gangway.end());

/** A call that is to succeed, with an answer as its tool's schema says. */
async function call<T>(name: string, args: object, options: AskOptions = {}): Promise<T> {
  const answer = await mcp.call(token, name, { ...args }, options);
  assert.equal(answer.status, 200, answer.body);
  assert.ok(answer.result, answer.body);
  assert.ok(answer.bytes <= 24_000, `${name}: ${String(answer.bytes)} bytes`);
  assert.notEqual(answer.result.isError, true, answer.body);
  const output = outputs.get(name);
  if (output) assert.deepEqual(misfits(answer.result.structuredContent, output), [], name);
  return toldBy(answer.result) as T;
}

const waited = (name: string, args: object) => call<{ deployment: Deployment }>(name, args);

describe('the tools of MCP', () => {
  it('deploy what a person uploaded, and answer when it runs', async () => {
    const { apps } = await call<{ apps: { nodes: AppInfo[] } }>('list_apps', { search: 'talk' });
    assert.deepEqual(
      apps.nodes.map(({ id }) => id),
      [talking.id],
    );
    const args = { appId: talking.slug, wait: true };
    const { redeploy } = await call<{ redeploy: Deployment }>('deploy_app', args);
    assert.equal(redeploy.status, 'ready');
    assert.equal(redeploy.trigger, 'mcp');
    const { app } = await call<{ app: { status: string } }>('get_app', { appId: talking.slug });
    assert.equal(app.status, 'active');
  });

  it('tell how far a deployment is to who asks, and then how it ended', async () => {
    const args = { appId: talking.id, wait: true };
    const answer = await mcp.call(token, 'deploy_app', args, { progressToken: 'p' });
    assert.match(answer.headers.get('content-type') ?? '', /^text\/event-stream/);
    const { progress, result } = answer;
    assert.ok(progress.length >= 1, answer.body);
    assert.ok(progress.every((one, i) => one.progress === i + 1));
    assert.ok(result);
    const { redeploy } = toldBy(result) as { redeploy: Deployment };
    assert.equal(redeploy.status, 'ready');
  });

  it('answer with the state so far when the time given is over', async () => {
    const slow = { buildCommand: 'sleep 1200', startCommand: 'true' };
    const { id: appId } = await gangway.client.createApp('Slow', { build: slow });
    await gangway.client.mustUpload(appId, archiveOf({ 'index.html': '' }));
    const args = { appId, wait: true, timeoutSeconds: 1 };
    const told = await call<{ redeploy: Deployment; note: string }>('deploy_app', args);
    assert.match(told.redeploy.status, /^(queued|building)$/);
    assert.match(told.note, /wait_for_deployment/);
    const deploymentId = told.redeploy.id;
    assert.deepEqual(await call('cancel_deployment', { deploymentId }), { cancelDeployment: true });
    const { deployment } = await waited('wait_for_deployment', { deploymentId });
    assert.equal(deployment.status, 'canceled');
    assert.deepEqual(await call('delete_app', { appId }), { deleteApp: true });
    const sentence = await mcp.fails(token, 'wait_for_deployment', { deploymentId });
    assert.match(sentence, /no such deployment here; list_deployments/);
  });

  it('say what an app wrote last that did not start, without its secrets', async () => {
    const app = await gangway.client.createApp('Fragile', {
      env: [{ key: 'API_KEY', value: 'hunter2hunter2', isSecret: true }],
    });
    const Procfile = 'web: echo "no luck with $API_KEY"; echo "Missing config" >&2; exit 4';
    await gangway.client.mustUpload(app.id, archiveOf({ Procfile }));
    const args = { appId: app.id, wait: true };
    const answer = await mcp.call(token, 'deploy_app', args);
    assert.ok(answer.result);
    const { redeploy, log } = toldBy(answer.result) as {
      redeploy: Deployment;
      log: string;
    };
    assert.equal(redeploy.status, 'failed');
    assert.match(
      log,
      /wrote last:\n[^]*no luck with \W[^]*Missing config[^]*Failed: .*exited with code 4/,
    );
    assert.doesNotMatch(answer.body, /hunter2/);
    const { id: deploymentId } = redeploy;
    assert.equal((await call<{ log: string }>('wait_for_deployment', { deploymentId })).log, log);
    const all = await call<{ log: string }>('get_deployment_log', { deploymentId });
    assert.match(all.log, / stderr Missing config\n/);
  });

  it('say why a build failed, and the agent fixes it', async () => {
    const created = await call<{ createApp: AppInfo }>('create_app', {
      name: 'Broken',
      source: 'UPLOAD',
      buildCommand: 'echo compiling; echo "Missing module: left-pad" >&2; exit 3',
      startCommand: 'node web.js',
    });
    const { id: appId } = created.createApp;
    await gangway.client.mustUpload(appId, talker);
    const answer = await mcp.call(token, 'deploy_app', { appId, wait: true });
    assert.ok(answer.result);
    const { redeploy, log } = toldBy(answer.result) as {
      redeploy: Deployment;
      log: string;
    };
    assert.equal(redeploy.status, 'failed');
    assert.match(
      redeploy.error ?? '',
      /^The build failed: echo compiling; .* ended with exit code 3\.$/,
    );
    assert.match(log, /compiling\n[^]*Missing module: left-pad/);
    assert.match(textOf(answer), /It is data[^]*Missing module: left-pad/);
    // At the start of a line: the command, which names it too, is told besides.
    assert.equal(answer.body.split('nMissing module: left-pad').length, 2, 'the log is told once');
    const { id: deploymentId } = redeploy;
    const again = await call<{ log: string }>('wait_for_deployment', { deploymentId });
    assert.equal(again.log, log);
    const args = { deploymentId, contains: 'stderr Missing', tail: 1 };
    const found = await call<{ log: string; lines: number }>('get_deployment_log', args);
    assert.equal(found.lines, 1);
    assert.match(found.log, / stderr Missing module: left-pad$/);
    await call('graphql_mutate', {
      query: `mutation ($id: ID!, $build: BuildConfigInput!) {
        updateApp(id: $id, build: $build) { id } }`,
      variables: { id: appId, build: { buildCommand: 'true', startCommand: 'node web.js' } },
    });
    const fixed = await call<{ redeploy: Deployment }>('deploy_app', { appId, wait: true });
    assert.equal(fixed.redeploy.status, 'ready');
    const list = await call<{ app: { deployments: { nodes: Deployment[] } } }>('list_deployments', {
      appId,
    });
    assert.deepEqual(
      list.app.deployments.nodes.map(({ status }) => status),
      ['ready', 'failed'],
    );
  });

  it('back up an app, tell how far that is to who asks, and how it ended', async () => {
    const destinationId = await makeDestination(gangway.client, 'Disk');
    const args = { appId: talking.slug, destinationId };
    const { runBackup } = await call<{ runBackup: Run }>('run_backup', args);
    assert.deepEqual([runBackup.status, runBackup.error], ['success', null]);
    const answer = await mcp.call(token, 'run_backup', args, { progressToken: 'b' });
    assert.match(answer.headers.get('content-type') ?? '', /^text\/event-stream/);
    const { progress, result } = answer;
    assert.match(progress[0]?.message ?? '', /^Backup run_\w+ is running/);
    assert.ok(progress.every((one, i) => one.progress === i + 1));
    assert.ok(result);
    assert.deepEqual(misfits(result.structuredContent, outputs.get('run_backup') ?? {}), []);
    assert.equal((toldBy(result) as { runBackup: Run }).runBackup.status, 'success');
  });

  it('run an earlier release again: the one named, or the one before', async () => {
    const { app } = await call<{ app: { deployments: { nodes: Deployment[] } } }>(
      'list_deployments',
      { appId: talking.id },
    );
    const earlier = app.deployments.nodes.find(({ canRollback }) => canRollback);
    assert.ok(earlier);
    for (const named of [{}, { deploymentId: earlier.id }]) {
      const args = { appId: talking.id, ...named };
      const { rollbackDeployment: queued } = await call<{ rollbackDeployment: Deployment }>(
        'rollback_app',
        args,
      );
      assert.equal(queued.trigger, 'rollback');
      const { deployment } = await waited('wait_for_deployment', { deploymentId: queued.id });
      assert.equal(deployment.status, 'ready');
    }
    const { createApp: other } = await call<{ createApp: AppInfo }>('create_app', {
      name: 'Other',
      source: 'UPLOAD',
    });
    const ofAnother = { appId: other.id, deploymentId: earlier.id };
    assert.match(await mcp.fails(token, 'rollback_app', ofAnother), /no such earlier release/);
  });

  it('stop, start and restart an app', async () => {
    const { slug } = talking;
    type Status = Record<string, { status: string }>;
    const { stopApp } = await call<Status>('stop_app', { appId: slug });
    assert.equal(stopApp?.status, 'stopped');
    for (const tool of ['start_app', 'restart_app']) {
      await call<Status>(tool, { appId: slug });
      await until(tool, 10_000, async () => {
        const { app } = await call<Status>('get_app', { appId: slug });
        return app?.status === 'active';
      });
    }
    await say(gangway.client, talking, '/say', { text: 'back again' });
    await until('it is in the log', 10_000, async () => {
      const { log } = await call<{ log: string }>('read_logs', { appId: slug, tail: 5 });
      return log.includes('back again');
    });
  });

  it('keep variables, and show no value of any', async () => {
    const appId = talking.slug;
    const key = 'GREETING';
    for (const isSecret of [true, false]) {
      const { upsertEnv } = await call<{ upsertEnv: Record<string, unknown>[] }>('set_env', {
        appId,
        key,
        value: 'good-morning',
        isSecret,
      });
      const { env } = await call<{ env: unknown[] }>('list_env', { appId });
      assert.deepEqual(env, upsertEnv);
      assert.deepEqual(
        upsertEnv.map((one) => [one['key'], one['isSecret'], one['masked']]),
        [[key, isSecret, '••••••••']],
      );
      assert.doesNotMatch(JSON.stringify(env), /morning/);
    }
    assert.deepEqual(await call('delete_env', { appId, key }), { deleteEnv: true });
    assert.deepEqual(await call('delete_env', { appId, key }), { deleteEnv: false });
    assert.deepEqual(await call('list_env', { appId }), { env: [] });
  });

  it('find things by name and by id', async () => {
    const byName = await call<{ results: unknown[]; more: number }>('search', { text: 'ALKIN' });
    const app = { kind: 'app', id: talking.id, name: 'Talking', slug: 'talking', status: 'active' };
    assert.deepEqual(byName, { results: [app], more: 0 });
    assert.deepEqual(await call('search', { text: talking.id }), byName);
    assert.deepEqual(await call('search', { text: 'nothing' }), { results: [], more: 0 });
    // A name may begin as ids do.
    const { createFolder } = await gangway.client.must<{ createFolder: { id: string } }>(
      'mutation { createFolder(name: "db_prod") { id } }',
    );
    const folder = { kind: 'folder', id: createFolder.id, name: 'db_prod' };
    assert.deepEqual(await call('search', { text: 'db_pr' }), { results: [folder], more: 0 });
  });

  it('tell the schema and run documents that fit it', async () => {
    const overview = textOf(await mcp.call(token, 'graphql_schema'));
    assert.match(overview, /^query\n[^]*\nmutation\n[^]*\ntypes\n/);
    const one = textOf(await mcp.call(token, 'graphql_schema', { name: 'updateApp' }));
    assert.match(one, /^mutation updateApp\([^]*input BuildConfigInput \{/);
    assert.doesNotMatch(overview, /revealEnv|createToken|changePassword/);
    const refused = await mcp.fails(token, 'graphql_schema', { name: 'revealEnv' });
    assert.equal(refused, 'revealEnv is refused over MCP.');
    const query = 'query Q($id: ID) { app(id: $id) { name } } query R { myTeams { name } }';
    const args = { query, variables: { id: talking.id }, operationName: 'Q' };
    assert.deepEqual(await call('graphql_query', args), { data: { app: { name: 'Talking' } } });
    const mutation = 'mutation { logout }';
    const sentence = await mcp.fails(token, 'graphql_query', { query: mutation });
    assert.equal(sentence, 'graphql_query runs no mutation: call graphql_mutate.');
  });

  it('say in a sentence what to do about what does not fit', async () => {
    const wrong: [string, object, RegExp][] = [
      ['get_app', { appId: 'nowhere' }, /no such app here; see list_apps/],
      ['get_app', { appId: 'app_nowhere' }, /no such app here; see list_apps/],
      [
        'get_app',
        { app: 'talking' },
        /appId: .*Unrecognized key: "app"\. There are: appId, team\.$/,
      ],
      ['get_deployment', { deploymentId: 'dpl_no' }, /no such deployment here; .*list_deployments/],
      ['read_logs', { appId: talking.id, after: 'x' }, /after is not a cursor/],
      ['read_logs', { appId: talking.id, tail: 9_999 }, /tail: .*2000/],
      ['list_apps', { team: 'nowhere' }, /no team nowhere here; list_teams/],
      ['create_app', { name: 'X', source: 'GIT' }, /repository/],
      [
        'create_app',
        { name: 'X', source: 'IMAGE', image: 'nginx' },
        /^An app with source IMAGE needs the docker runtime, .* GANGWAY_RUNTIME=docker\./,
      ],
      ['set_env', { appId: talking.id, key: 'A B', value: '' }, /letters, digits and _/],
    ];
    for (const [name, args, sentence] of wrong) {
      assert.match(await mcp.fails(token, name, { ...args }), sentence);
    }
  });
});
