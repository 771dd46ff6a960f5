/** Apps and databases on another server: they are used from here as those at home, and go on when the link does not. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { before, describe, it } from 'node:test';

import type { AgentProcess } from '../support/agent-process.ts';
import { cleanups } from '../support/cleanups.ts';
import {
  beginBackup,
  endedRun,
  makeDestination,
  type Run,
} from '../support/backups-over-graphql.ts';
import { Databases } from '../support/databases.ts';
import { found } from '../support/eventually.ts';
import { type AppInfo, archiveOf, type Client } from '../support/gangway-client.ts';
import { Gangway, until } from '../support/gangway.ts';
import { LogTail } from '../support/log-tail.ts';
import { type OtherServer, otherServer } from '../support/other-server.ts';
import { freePort } from '../support/ports.ts';

/** Answers with its name, and counts aloud. */
const counting = (name: string): Record<string, string> => ({
  Procfile: 'web: node server.js',
  'server.js': `let n = 0;
    setInterval(() => console.log('${name} n ' + (n += 1)), 20);
    require('node:http').createServer((_, answer) => answer.end('${name} ' + n)).listen(process.env.PORT);`,
});

describe('another server', () => {
  const later = cleanups();
  let gangway: Gangway;
  let agent: AgentProcess;
  /** Visits at the edge of the other server. */
  let there: Client;
  let dataDir: string;
  let serverId: string;
  let connected: OtherServer['connected'];
  let app: AppInfo;

  before(async () => {
    const env = { GANGWAY_AGENT_PORT: String(await freePort()) };
    gangway = await Gangway.open({ env });
    later(() => gangway.end());
    const other = await otherServer(gangway);
    later(() => other.end());
    ({ serverId, agent, there, connected, dataDir } = other);
  });

  const change = (operation: string, id: string, fields = ''): Promise<object> =>
    gangway.client.must<object>(`mutation($id: ID!) { ${operation}(id: $id) ${fields} }`, { id });
  const exec = async (command: string): Promise<{ output: string; exitCode: number }> => {
    const query =
      'mutation($id: ID!, $command: String!) { execConsole(appId: $id, command: $command) { output exitCode } }';
    type Answer = { execConsole: { output: string; exitCode: number } };
    return (await gangway.client.must<Answer>(query, { id: app.id, command })).execConsole;
  };
  const tail = (query = ''): LogTail =>
    new LogTail(`${gangway.url}/api/apps/${app.id}/logs${query}`, {
      cookie: gangway.client.cookie,
    });
  /** What the first release counted, which runs again at the end. */
  const numbersIn = (text: string): number[] =>
    [...text.matchAll(/\bfirst n (\d+)\n/g)].map(([, n]) => Number(n));

  it('runs an app that was uploaded here, at its own edge', async () => {
    app = await gangway.client.createApp('There', { serverId });
    await gangway.client.mustUpload(app.id, archiveOf(counting('first')));
    await gangway.client.deployed(app.id);
    assert.match((await there.visit(app.slug)).text, /^first \d+$/);
    const stream = await tail().opened();
    await until('its log streams', 20_000, () => numbersIn(stream.log).length > 20);
    stream.close();
    const { output, exitCode } = await exec('echo "$APP_DATA_DIR" && exit 3');
    assert.deepEqual(
      [path.dirname(output.trim()), exitCode],
      [fs.realpathSync(path.join(dataDir, 'apps', app.id)), 3],
    );
    await found('its use of the machine', async () => {
      const query = 'query($id: ID!) { metrics(appId: $id, minutes: 1) { memoryBytes } }';
      const { metrics } = await gangway.client.must<{ metrics: object[] }>(query, { id: app.id });
      return metrics.length > 0;
    });
  });

  it('counts its visitors and tells of them, at whichever edge they come in', async () => {
    const on = 'mutation($id: ID!) { updateApp(id: $id, edge: { accessLog: true }) { id } }';
    await gangway.client.must(on, { id: app.id });
    const query = 'query($id: ID!) { logs(appId: $id, tail: 1000) { nodes { stream text } } }';
    const isTold = async (path: string): Promise<boolean> => {
      type Answer = { logs: { nodes: { stream: string; text: string }[] } };
      const { logs } = await gangway.client.must<Answer>(query, { id: app.id });
      return logs.nodes.some(({ stream, text }) => stream === 'access' && text.includes(path));
    };
    let visits = 1; // Of the test before.
    for (const [edge, path] of [
      [gangway.client, '/here'],
      [there, '/there'],
    ] as const) {
      await until(`a line of ${path}`, 30_000, async () => {
        assert.equal((await edge.visit(app.slug, path)).status, 200);
        visits += 1;
        return await isTold(path);
      });
    }
    await until('all are counted', 20_000, async () => {
      const { text } = await gangway.client.ask('/metrics');
      const requests = `gangway_app_requests_total{app="${app.id}",class="2xx"} ${String(visits)}\n`;
      return text.includes(requests);
    });
  });

  it('builds, goes back and restarts as at home', async () => {
    const build = { buildCommand: 'echo built > made.txt && cat made.txt' };
    await gangway.client.must(
      'mutation($id: ID!, $build: BuildConfigInput!) { updateApp(id: $id, build: $build) { id } }',
      { id: app.id, build },
    );
    const first = await gangway.client.must<{ app: { deployments: { nodes: { id: string }[] } } }>(
      'query($id: ID!) { app(id: $id) { deployments(first: 1) { nodes { id } } } }',
      { id: app.id },
    );
    await gangway.client.mustUpload(app.id, archiveOf(counting('second')));
    const id = await gangway.client.deployed(app.id);
    assert.match((await gangway.client.deployment(id))?.log ?? '', /^built$/m);
    await until('the second answers', 20_000, async () =>
      (await there.visit(app.slug)).text.startsWith('second'),
    );
    const { rollbackDeployment } = await gangway.client.must<{
      rollbackDeployment: { id: string };
    }>('mutation($id: ID!) { rollbackDeployment(deploymentId: $id) { id } }', {
      id: first.app.deployments.nodes[0]?.id ?? '',
    });
    assert.equal(await gangway.client.finished(rollbackDeployment.id), 'ready');
    await until('the first answers', 20_000, async () =>
      (await there.visit(app.slug)).text.startsWith('first'),
    );
  });

  it('has databases, whose clients run beside them', async () => {
    const databases = new Databases(gangway);
    const { id } = await databases.create({ name: 'Orders', serverId });
    await databases.becomes(id, 'running');
    const query =
      'mutation($id: ID!, $command: String!) { execDatabaseConsole(databaseId: $id, command: $command) { output exitCode } }';
    const command = 'SELECT 6 * 7 AS answer';
    const { execDatabaseConsole } = await gangway.client.must<{
      execDatabaseConsole: { output: string };
    }>(query, { id, command });
    assert.match(execDatabaseConsole.output, /42/);
    const { client } = gangway;
    const destinationId = await makeDestination(client, 'Disk', { encrypt: true });
    const backup = async (of: object): Promise<Run> =>
      await endedRun(client, (await beginBackup(client, { ...of, destinationId })).id);
    // PostgreSQL as it comes with Gangway has no pg_dump: these are its files.
    const run = await backup({ databaseId: id });
    assert.deepEqual([run.status, run.error], ['success', null]);
    await exec('echo precious > "$APP_DATA_DIR/kept.txt"');
    const plain = await makeDestination(client, 'Plain');
    const files = await endedRun(
      client,
      (await beginBackup(client, { appId: app.id, destinationId: plain })).id,
    );
    assert.deepEqual([files.status, files.error], ['success', null]);
    const all = fs.readdirSync(gangway.dataDir, { recursive: true, encoding: 'utf8' });
    const artifact = all.find((name) => name.includes(files.id) && name.endsWith('.tar.gz')) ?? '';
    const kept = ['-xzOf', path.join(gangway.dataDir, artifact), 'volumes/data/kept.txt'];
    assert.equal(execFileSync('tar', kept).toString(), 'precious\n');
    const other = await gangway.client.createApp('Home', {
      env: [{ key: 'URL', value: `\${database.${id}.url}` }],
    });
    await gangway.client.mustUpload(other.id, archiveOf({ 'index.html': 'home' }));
    const failed = await gangway.client.redeploy(other.id);
    assert.equal(await gangway.client.finished(failed), 'failed');
    assert.match((await gangway.client.deployment(failed))?.error ?? '', /on another server/);
    for (const [what, one] of [
      ['deleteApp', other.id],
      ['deleteDatabase', id],
    ] as const) {
      await change(what, one);
      await change('purgeFromTrash', one);
    }
    assert.ok(!fs.existsSync(path.join(dataDir, 'apps', id)));
  });

  it('is refused within two seconds while it is away, where its apps go on, and loses no line', async () => {
    const stream = await tail('?notices=1&tail=0').opened();
    await until('its log streams', 20_000, () => numbersIn(stream.log).length > 5);
    await agent.end('SIGKILL');
    const beganMs = performance.now();
    const refused = await tail().opened();
    const tookMs = performance.now() - beganMs;
    assert.equal(refused.status, 503);
    await until('the answer', 5000, () => refused.ended);
    assert.match(refused.text, /AGENT_UNREACHABLE/);
    assert.ok(tookMs < 2500, `it took ${String(tookMs)} ms`);
    const command = 'mutation($id: ID!) { execConsole(appId: $id, command: "true") { exitCode } }';
    assert.equal(await gangway.client.fails(command, { id: app.id }), 'AGENT_UNREACHABLE');
    const { text } = await there.visit(app.slug);
    const during = Number(text.split(' ')[1]);
    assert.ok(during > 0, text);
    await agent.start();
    await connected(true);
    await until('what was written meanwhile', 30_000, () =>
      numbersIn(stream.log).includes(during + 5),
    );
    const numbers = numbersIn(stream.log);
    const [began = 0] = numbers;
    assert.deepEqual(
      numbers,
      numbers.map((_, at) => began + at),
    );
    const kinds = stream.events
      .filter(({ event }) => event === 'notice')
      .map(({ data }) => (JSON.parse(data) as { kind: string }).kind);
    assert.deepEqual(
      kinds.filter((kind) => kind.includes('reachable')),
      ['unreachable', 'reachable'],
    );
    stream.close();
  });

  it('keeps nothing of an app that is purged, and takes nothing new while it drains', async () => {
    const own = path.join(dataDir, 'apps', app.id);
    assert.ok(fs.existsSync(own));
    await change('deleteApp', app.id);
    await until('nobody answers', 20_000, async () => (await there.visit(app.slug)).status === 404);
    await change('purgeFromTrash', app.id);
    assert.ok(!fs.existsSync(own));
    const create = 'mutation($input: CreateAppInput!) { createApp(input: $input) { id } }';
    const input = { name: 'New', source: 'UPLOAD' };
    await gangway.client.must('mutation($id: ID!) { drainServer(id: $id, drain: true) { id } }', {
      id: serverId,
    });
    assert.equal(await gangway.client.fails(create, { input: { ...input, serverId } }), 'CONFLICT');
    const unknown = { ...input, serverId: 'srv_none' };
    assert.equal(await gangway.client.fails(create, { input: unknown }), 'NOT_FOUND');
    const database =
      'mutation($input: CreateDatabaseInput!) { createDatabase(input: $input) { id } }';
    const wanted = { name: 'New', engine: 'POSTGRES', serverId };
    assert.equal(await gangway.client.fails(database, { input: wanted }), 'CONFLICT');
  });

  it('lets go of what a server had that is away, and removed by force', async () => {
    await gangway.client.must('mutation($id: ID!) { drainServer(id: $id, drain: false) { id } }', {
      id: serverId,
    });
    const left = await gangway.client.createApp('Left', { serverId });
    await gangway.client.mustUpload(left.id, archiveOf(counting('left')));
    await gangway.client.deployed(left.id);
    const databases = new Databases(gangway);
    const { id } = await databases.create({ name: 'Left', serverId });
    await databases.becomes(id, 'running');
    const remove = 'mutation($id: ID!, $force: Boolean) { removeServer(id: $id, force: $force) }';
    assert.equal(await gangway.client.fails(remove, { id: serverId }), 'CONFLICT');
    await agent.end('SIGKILL');
    await connected(false);
    await gangway.client.must(remove, { id: serverId, force: true });
    const command = 'mutation($id: ID!) { execConsole(appId: $id, command: "true") { exitCode } }';
    assert.equal(await gangway.client.fails(command, { id: left.id }), 'AGENT_UNREACHABLE');
    for (const [what, one] of [
      ['deleteApp', left.id],
      ['deleteDatabase', id],
    ] as const) {
      await change(what, one);
      await change('purgeFromTrash', one);
    }
  });
});
