/** A PostgreSQL database from its making to its end, with nothing installed for it. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { capabilities } from '../../src/lib/capabilities.ts';
import { Databases, refuses, rowsOf, run } from '../support/databases.ts';
import { found } from '../support/eventually.ts';
import { needs } from '../support/programs.ts';
import { archiveOf } from '../support/gangway-client.ts';
import { Gangway, until } from '../support/gangway.ts';
import { LogTail } from '../support/log-tail.ts';
import { McpClient } from '../support/mcp-client.ts';

// Answers with what it was told, and prints it in some ways.
const showsVariable = `
const { DATABASE_URL: url, PORT } = process.env;
const { password } = new URL(url);
require('node:http').createServer((_, answer) => answer.end(url)).listen(PORT);
const encoded = Buffer.from(password).toString('base64') + ' ' + Buffer.from(url).toString('base64');
for (const text of [password, url, encoded, JSON.stringify({ db: { password } }), encodeURIComponent(url)])
  console.log('signs in with ' + text + ', it says');`;

/** What an answer over MCP must not hold of a connection string. */
function formsOf(url: string): string[] {
  const { password } = new URL(url);
  const base64 = [url, password].map((one) => Buffer.from(one).toString('base64'));
  return [password, ...base64, encodeURIComponent(url)];
}

interface LogLine {
  stream: string;
  text: string;
}

describe('a PostgreSQL database', () => {
  let gangway: Gangway;
  let databases: Databases;
  let id: string;
  before(async () => {
    gangway = await Gangway.open();
    databases = new Databases(gangway);
  });
  after(() => gangway.end());

  const fails = (query: string, variables: Record<string, string>): Promise<string | undefined> =>
    gangway.client.fails(query, variables);

  it('is one mutation away, and its owner is no superuser', async () => {
    const made = await databases.create({ name: 'Orders' });
    id = made.id;
    assert.match(id, /^db_/);
    assert.equal(made.status, 'provisioning');
    assert.match(made.version, /^18\.\d+$/);
    await databases.becomes(id, 'running');
    const { connectionStringMasked } = await databases.mustSee(id);
    assert.match(connectionStringMasked, /^postgres:\/\/app:•+@127\.0\.0\.1:\d+\/app$/);
    const rows = await rowsOf(
      await databases.reveal(id),
      'CREATE TABLE orders (id serial PRIMARY KEY, what text)',
      "INSERT INTO orders (what) VALUES ('tea')",
      'SELECT current_user AS me, usesuper AS super FROM pg_user WHERE usename = current_user',
    );
    assert.deepEqual(rows, [{ me: 'app', super: false }]);
  });

  it('is reached by psql with what is revealed', { skip: needs('psql') }, async () => {
    const text = await run('psql', [await databases.reveal(id), '-Atc', 'SELECT what FROM orders']);
    assert.equal(text, 'tea\n');
  });

  it('runs one statement in its console', async () => {
    const { output, exitCode } = await databases.exec(id, 'SELECT what FROM orders');
    assert.equal(exitCode, 0);
    assert.match(output, / what\s*\n-+\n tea\n\(1 row\)/);
    const failed = await databases.exec(id, 'SELECT nothing FROM nowhere');
    assert.notEqual(failed.exitCode, 0);
    assert.match(failed.output, /relation "nowhere" does not exist/);
  });

  it('shows its password to no other program', { skip: needs('psql') }, async () => {
    const { output } = await databases.exec(id, '\\! env; cat /proc/*/cmdline 2>/dev/null');
    const { password } = new URL(await databases.reveal(id));
    // Its client has it in its environment, and no program in its arguments.
    assert.equal(output.split(password).length - 1, 1);
  });

  it('shows its log, live and by pages', async () => {
    const cookie = gangway.client.cookie;
    const tail = await new LogTail(`${gangway.url}/api/databases/${id}/logs`, { cookie }).opened();
    assert.equal(tail.status, 200);
    const what = 'database system is ready to accept connections';
    await until('the log tells it', 20_000, () => tail.log.includes(what));
    tail.close();
    const { logs } = await gangway.client.must<{ logs: { nodes: { text: string }[] } }>(
      'query($id: ID!) { logs(databaseId: $id) { nodes { text } } }',
      { id },
    );
    const text = logs.nodes.map((line) => line.text).join('\n');
    assert.ok(text.includes(what));
    assert.ok(!text.includes(new URL(await databases.reveal(id)).password));
    const other = `${gangway.url}/api/databases/${id}/logs?container=app`;
    assert.equal((await new LogTail(other, { cookie }).opened()).status, 404);
  });

  it('stops and starts with its data, at the same address', async () => {
    const address = await databases.reveal(id);
    assert.equal((await databases.setRunning(id, false)).status, 'stopped');
    await until('it is stopped', 20_000, () => refuses(address));
    assert.equal(await fails('mutation($id: ID!) { rotateDatabasePassword(id: $id) }', { id }), 'NOT_RUNNING'); // prettier-ignore
    assert.equal(await fails('mutation($id: ID!) { execDatabaseConsole(databaseId: $id, command: "SELECT 1") { output } }', { id }), 'NOT_RUNNING'); // prettier-ignore
    await databases.setRunning(id, true);
    await databases.becomes(id, 'running');
    assert.equal(await databases.reveal(id), address);
    assert.deepEqual(await rowsOf(address, 'SELECT what FROM orders'), [{ what: 'tea' }]);
  });

  it('takes another password without a restart', async () => {
    const before = await databases.reveal(id);
    const started = (url: string): Promise<unknown[]> =>
      rowsOf(url, 'SELECT pg_postmaster_start_time()::text AS at');
    const at = await started(before);
    const address = await databases.rotate(id);
    assert.notEqual(address, before);
    assert.equal(await databases.reveal(id), address);
    assert.ok(await refuses(before));
    assert.deepEqual(await started(address), at);
    assert.ok(!gangway.output.includes(new URL(address).password));
  });

  it('is told to the apps that refer to it', async () => {
    const reference = `\${database.${id}.url}`;
    const app = await gangway.client.createApp('Shop', {
      env: [{ key: 'DATABASE_URL', value: reference }],
    });
    const files = { Procfile: 'web: node main.js', 'main.js': showsVariable };
    await gangway.client.mustUpload(app.id, archiveOf(files));
    await gangway.client.deployed(app.id);
    assert.equal((await gangway.client.visit(app.slug)).text, await databases.reveal(id));
    const { revealEnv } = await gangway.client.must<{ revealEnv: string }>(
      'mutation($id: ID!) { revealEnv(appId: $id, key: "DATABASE_URL") }',
      { id: app.id },
    );
    assert.equal(revealEnv, reference);
    const { database } = await gangway.client.must<{ database: { usedBy: { slug: string }[] } }>(
      'query($id: ID!) { database(id: $id) { usedBy { slug } } }',
      { id },
    );
    assert.deepEqual(database.usedBy, [{ slug: 'shop' }]);
  });

  it('restarts the apps that were told its password when it gets another one', async () => {
    const { apps } = await gangway.client.must<{ apps: { nodes: { id: string; slug: string }[] } }>(
      '{ apps { nodes { id slug } } }',
    );
    const { id: appId, slug } = apps.nodes[0] ?? { id: '', slug: '' };
    const address = await databases.rotate(id);
    await until('the app has it', 30_000, async () => {
      const { text } = await gangway.client.visit(slug);
      return text === address;
    });
    const why = `The database Orders (${id}) has another password: the app is restarted, to be told it.`;
    const told = await found('its log tells it', async () => {
      const { logs } = await gangway.client.must<{ logs: { nodes: LogLine[] } }>(
        'query($id: ID!) { logs(appId: $id, tail: 100) { nodes { stream text } } }',
        { id: appId },
      );
      const lines = logs.nodes.filter(({ text }) => text === why);
      return lines.length > 0 && lines;
    });
    assert.deepEqual(
      told.map(({ stream }) => stream),
      ['system'],
    );
  });

  it('is not deleted while apps refer to it, which are named to who sees them', async () => {
    const mutation = 'mutation($id: ID!) { deleteDatabase(id: $id) }';
    const held = ['delete_databases'];
    const token = await gangway.client.token({ capabilities: held, databaseIds: [id] });
    const program = gangway.stranger();
    for (const [client, headers, named, others] of [
      [gangway.client, {}, ['shop'], 0],
      [program, { authorization: `Bearer ${token}` }, [], 1],
    ] as const) {
      const { errors } = await client.graphql(mutation, { id }, headers);
      const { code, usedBy, usedByOthers } = (errors[0]?.extensions ?? {}) as {
        code?: string;
        usedBy?: { slug: string }[];
        usedByOthers?: number;
      };
      const shown = [code, usedBy?.map(({ slug }) => slug), usedByOthers];
      assert.deepEqual(shown, ['CONFLICT', named, others]);
      const who = named[0] ?? '1 more';
      assert.match(errors[0]?.message ?? '', new RegExp(`variables: ${who}\\. .*force: true`));
    }
    assert.equal((await databases.mustSee(id)).status, 'running');
  });

  it('fails the deployments that refer to it while it is stopped, and says why', async () => {
    await databases.setRunning(id, false);
    const { apps } = await gangway.client.must<{ apps: { nodes: { id: string }[] } }>(
      '{ apps { nodes { id } } }',
    );
    const deploymentId = await gangway.client.redeploy(apps.nodes[0]?.id ?? '');
    assert.equal(await gangway.client.finished(deploymentId), 'failed');
    const { deployment } = await gangway.client.must<{ deployment: { error: string } }>(
      'query($id: ID!) { deployment(id: $id) { error } }',
      { id: deploymentId },
    );
    assert.match(deployment.error, /DATABASE_URL refers to the database db_\w+, which does not run: it is stopped/); // prettier-ignore
    await databases.setRunning(id, true);
    await databases.becomes(id, 'running');
  });

  it('refuses variables that refer to what is no database of the team', async () => {
    const { id: appId } = await gangway.client.createApp('Other');
    const set = (value: string): Promise<string | undefined> =>
      fails('mutation($appId: ID!, $value: String!) { upsertEnv(appId: $appId, entries: [{key: "A", value: $value}]) { key } }', { appId, value }); // prettier-ignore
    assert.equal(await set('${database.db_none.url}'), 'NOT_FOUND');
    assert.equal(await set('${database.orders}'), 'BAD_USER_INPUT');
    assert.equal(await set(`postgres://\${database.${id}.host`), 'BAD_USER_INPUT');
    assert.equal(await set(`\${database.${id}.everything}`), 'BAD_USER_INPUT');
  });

  it('is listed, shown and made by tools of MCP, which tell no credential', async () => {
    const mcp = new McpClient(gangway.url);
    const token = await gangway.client.token({ capabilities });
    const listed = await mcp.must<{ databases: { id: string }[] }>(token, 'list_databases');
    assert.deepEqual(
      listed.databases.map((one) => one.id),
      [id],
    );
    const { database } = await mcp.must<{ database: { connectionStringMasked: string } }>(
      token,
      'get_database',
      { databaseId: id },
    );
    assert.match(database.connectionStringMasked, /•@/);
    const { results } = await mcp.must<{ results: object[] }>(token, 'search', { text: 'order' });
    const found = { kind: 'database', id, name: 'Orders', engine: 'POSTGRES', status: 'running' };
    assert.deepEqual(results, [found]);
    assert.deepEqual(await mcp.must(token, 'search', { text: id }), { results, more: 0 });
    assert.match(await mcp.fails(token, 'read_logs'), /either appId or databaseId/);
    const { createDatabase } = await mcp.must<{ createDatabase: { id: string; status: string } }>(
      token,
      'create_database',
      { name: 'By an agent', engine: 'POSTGRES' },
    );
    assert.equal(createDatabase.status, 'provisioning');
    await databases.delete(createDatabase.id);
    await gangway.client.must('mutation($id: ID!) { purgeFromTrash(id: $id) }', createDatabase);
    for (const field of [
      `revealConnection(id: "${id}")`,
      `rotateDatabasePassword(id: "${id}")`,
      `execDatabaseConsole(databaseId: "${id}", command: "SELECT 1") { output }`,
    ]) {
      const sentence = await mcp.fails(token, 'graphql_mutate', { query: `mutation { ${field} }` });
      assert.match(sentence, /refused over MCP\. \(FORBIDDEN\)/);
    }
  });

  it('shows no password over MCP, wherever it was printed, nor the one before', async () => {
    const mcp = new McpClient(gangway.url);
    const token = await gangway.client.token({ capabilities });
    const before = await databases.reveal(id);
    const query = `query ($id: ID) { logs(databaseId: $id, tail: 500) { nodes { text } }
      app(slug: "shop") { name } databases { name error connectionStringMasked } }`;
    const statement = (url: string): string => `SELECT '${new URL(url).password}' FROM nowhere`;
    for (const secrets of [[before], [before, await databases.rotate(id)]]) {
      // A statement that fails stands in the log of the database as it was written.
      const failing = statement(secrets.at(-1) ?? '');
      await databases.exec(id, failing);
      await until('its log has it', 20_000, async () =>
        (await databases.log(id)).includes(failing),
      );
      const asked = { query, variables: { id } };
      for (const [name, args] of [
        ['read_logs', { appId: 'shop' }],
        ['read_logs', { appId: 'shop', contains: 'signs in' }],
        ['read_logs', { databaseId: id, tail: 500 }],
        ['graphql_query', asked],
        ['get_database', { databaseId: id }],
      ] as const) {
        const { body } = await mcp.call(token, name, args);
        assert.deepEqual(
          secrets.flatMap(formsOf).filter((form) => body.includes(form)),
          [],
          name,
        );
      }
      const { body } = await mcp.call(token, 'read_logs', { databaseId: id });
      assert.match(body, /SELECT '\[redacted: [\w ]+\]' FROM nowhere/);
    }
    const { log } = await mcp.must<{ log: string }>(token, 'read_logs', { appId: 'shop' });
    assert.match(log, /signs in with \[redacted: variable DATABASE_URL\], it says/);
  });

  it('is looked at and referred to over MCP by who may', async () => {
    const mcp = new McpClient(gangway.url);
    const readOnly = { query: 'readonly=1' };
    const all = await gangway.client.token({ capabilities });
    const made = { name: 'By an agent', engine: 'POSTGRES' };
    assert.equal((await mcp.call(all, 'create_database', made, readOnly)).fault?.code, -32602);
    const stop = { query: `mutation { setDatabaseRunning(id: "${id}", running: false) { id } }` };
    const stopped = await mcp.call(all, 'graphql_query', stop, readOnly);
    assert.equal(stopped.result?.isError, true);
    const seen = await mcp.call(all, 'get_database', { databaseId: id }, readOnly);
    assert.equal(seen.result?.isError, undefined);
    // Whoever sets a variable could read by it what it refers to.
    const few = await gangway.client.token({ capabilities: ['manage_env', 'view_logs'] });
    const entry = { appId: 'shop', key: 'B', value: `\${database.${id}.password}` };
    assert.match(await mcp.fails(few, 'set_env', entry), /reveal_secrets.*\(FORBIDDEN\)/);
    assert.match(await mcp.fails(few, 'graphql_mutate', stop), /control_databases.*\(FORBIDDEN\)/);
    assert.equal((await mcp.call(few, 'create_database', made)).status, 403);
    const { app } = await mcp.must<{ app: { id: string } }>(all, 'get_app', { appId: 'shop' });
    const ofApp = await gangway.client.token({ capabilities, appIds: [app.id] });
    assert.match(await mcp.fails(ofApp, 'get_database', { databaseId: id }), /no such database/);
    const { log } = await mcp.must<{ log: string }>(ofApp, 'read_logs', { appId: app.id });
    assert.match(log, /signs in with \[redacted: variable DATABASE_URL\], it says/);
  });

  it('is reached by a token for it alone, and by no other', async () => {
    const { id: other } = await databases.create({ name: 'Other' });
    const secret = await gangway.client.token({ capabilities, databaseIds: [id] });
    const bearer = { authorization: `Bearer ${secret}` };
    const stranger = gangway.stranger();
    const { databases: seen } = await stranger.must<{ databases: { id: string }[] }>(
      '{ databases { id } }',
      {},
      bearer,
    );
    assert.deepEqual(seen, [{ id }]);
    const start = 'mutation($id: ID!) { setDatabaseRunning(id: $id, running: true) { id } }';
    await stranger.must(start, { id }, bearer);
    assert.equal(await stranger.fails(start, { id: other }, bearer), 'NOT_FOUND');
    const create = 'mutation { createDatabase(input: {name: "X", engine: POSTGRES}) { id } }';
    assert.equal(await stranger.fails(create, {}, bearer), 'FORBIDDEN');
    await databases.delete(other);
    await gangway.client.must('mutation($id: ID!) { purgeFromTrash(id: $id) }', { id: other });
  });

  it('goes to trash with its data, and comes back stopped', async () => {
    const address = await databases.reveal(id);
    await databases.delete(id);
    assert.equal(await databases.see(id), null);
    await until('it is stopped', 20_000, () => refuses(address));
    const { trash } = await gangway.client.must<{ trash: { kind: string; name: string }[] }>(
      '{ trash { kind name } }',
    );
    assert.deepEqual(trash, [{ kind: 'database', name: 'Orders' }]);
    await gangway.client.must('mutation($id: ID!) { restoreFromTrash(id: $id) }', { id });
    assert.equal((await databases.mustSee(id)).status, 'stopped');
    await databases.setRunning(id, true);
    await databases.becomes(id, 'running');
    assert.deepEqual(await rowsOf(await databases.reveal(id), 'SELECT what FROM orders'), [
      { what: 'tea' },
    ]);
  });

  it('is gone for good when it is purged', async () => {
    await databases.delete(id);
    await gangway.client.must('mutation($id: ID!) { purgeFromTrash(id: $id) }', { id });
    const { trash, databases: left } = await gangway.client.must<{
      trash: unknown[];
      databases: unknown[];
    }>('{ trash { id } databases { id } }');
    assert.deepEqual([trash, left], [[], []]);
  });

  it('leaves what was done to it in the activity, and no secret', async () => {
    const { activity } = await gangway.client.must<{
      activity: { nodes: { action: string; target: string }[] };
    }>('{ activity(first: 500) { nodes { action target details } } }');
    const told = activity.nodes.filter(({ target }) => target === `database:${id} Orders`);
    const actions = new Set(told.map(({ action }) => action));
    for (const action of [
      'createDatabase',
      'setDatabaseRunning',
      'revealConnection',
      'rotateDatabasePassword',
      'execDatabaseConsole',
      'deleteDatabase',
    ]) {
      // prettier-ignore
      assert.ok(actions.has(action), action);
    }
  });
});
