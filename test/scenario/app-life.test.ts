import assert from 'node:assert/strict';
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { archiveOf, packed } from '../support/gangway-client.ts';
import type { Client } from '../support/gangway-client.ts';
import { Gangway, until } from '../support/gangway.ts';
import { LogTail } from '../support/log-tail.ts';

describe('the life of an app', () => {
  let gangway: Gangway;
  let client: Client;
  before(async () => {
    gangway = await Gangway.open();
    client = gangway.client;
  });
  after(() => gangway.end());

  const change = (operation: string, id: string, fields = '{ status }'): Promise<object> =>
    client.must<object>(`mutation($id: ID!) { ${operation}(id: $id) ${fields} }`, { id });

  async function hasStatus(id: string, status: string): Promise<void> {
    const query = 'query($id: ID!) { app(id: $id) { status } }';
    await until(`the app is ${status}`, 30_000, async () => {
      const { app } = await client.must<{ app: { status: string } }>(query, { id });
      return app.status === status;
    });
  }

  it('goes through stop, start, restart and back to an earlier release', async () => {
    const app = await client.createApp('Web');
    await client.mustUpload(app.id, archiveOf({ 'index.html': 'one' }));
    const first = await client.deployed(app.id);
    await client.mustUpload(app.id, archiveOf({ 'index.html': 'two' }));
    await client.deployed(app.id);
    assert.equal((await client.visit(app.slug)).text, 'two');
    await change('stopApp', app.id);
    await until('no visitor gets through', 10_000, async () => {
      const { status } = await client.visit(app.slug);
      return status === 503;
    });
    await change('startApp', app.id);
    await hasStatus(app.id, 'active');
    assert.equal((await client.visit(app.slug)).text, 'two');
    await change('restartApp', app.id);
    await hasStatus(app.id, 'active');
    const { rollbackDeployment } = await client.must<{ rollbackDeployment: { id: string } }>(
      'mutation($id: ID!) { rollbackDeployment(deploymentId: $id) { id } }',
      { id: first },
    );
    assert.equal(await client.finished(rollbackDeployment.id), 'ready');
    assert.equal((await client.visit(app.slug)).text, 'one');
  });

  it('shows its visitors at each step why it does not answer', async (t) => {
    const app = await client.createApp('Newborn');
    const shows = (sentence: string): Promise<void> =>
      until(`the page: ${sentence}`, 20_000, async () => {
        const { status, text } = await client.visit(app.slug);
        return status === 503 && text.includes(sentence);
      });
    await shows('not deployed yet');
    // It fails when it is told to: a page that is there for a moment only may be missed.
    const gates = mkdtempSync(join(tmpdir(), 'gangway-gates-'));
    t.after(() => rmSync(gates, { recursive: true }));
    chmodSync(gates, 0o711);
    const gate = join(gates, 'fails');
    const fails = `web: until [ -e ${gate} ]; do sleep 0.05; done; exit 7`;
    await client.mustUpload(app.id, archiveOf({ Procfile: fails }));
    const failing = await client.redeploy(app.id);
    await shows('being deployed for the first time');
    writeFileSync(gate, '');
    assert.equal(await client.finished(failing), 'failed');
    await shows('first deployment of this app failed');
    // As a power cut leaves it: the next one knows it from what is stored.
    await gangway.kill9();
    await gangway.killRunner();
    await gangway.start();
    await shows('first deployment of this app failed');
    await client.mustUpload(app.id, archiveOf({ 'index.html': 'here' }));
    await client.deployed(app.id);
    assert.equal((await client.visit(app.slug)).text, 'here');
    await change('stopApp', app.id);
    await shows('is stopped');
    await change('deleteApp', app.id, '');
    await until('no app', 20_000, async () => (await client.visit(app.slug)).status === 404);
    await change('purgeFromTrash', app.id, '');
  });

  it('keeps its variables hidden, and gives them to the next instance', async () => {
    const server = `require('node:http').createServer((_, response) => response.end(String(process.env.SECRET)))
      .listen(process.env.PORT)`;
    const app = await client.createApp('Keeper', {
      env: [{ key: 'SECRET', value: 'first value' }],
    });
    await client.mustUpload(
      app.id,
      archiveOf({ Procfile: 'web: node server.js', 'server.js': server }),
    );
    await client.deployed(app.id);
    assert.equal((await client.visit(app.slug)).text, 'first value');
    const query = 'query($id: ID!) { env(appId: $id) { key value masked isSecret } }';
    const shown = await client.must<{ env: { masked: string }[] }>(query, { id: app.id });
    assert.deepEqual(shown.env, [
      { key: 'SECRET', value: null, masked: shown.env[0]?.masked, isSecret: true },
    ]);
    assert.doesNotMatch(JSON.stringify(shown), /first|value"?:"f/);
    const entries = [{ key: 'SECRET', value: 'second value' }];
    await client.must(
      'mutation($id: ID!, $entries: [EnvEntryInput!]!) { upsertEnv(appId: $id, entries: $entries) { id } }',
      { id: app.id, entries },
    );
    assert.deepEqual(
      await client.must('mutation($id: ID!) { revealEnv(appId: $id, key: "SECRET") }', {
        id: app.id,
      }),
      { revealEnv: 'second value' },
    );
    await client.deployed(app.id);
    assert.equal((await client.visit(app.slug)).text, 'second value');
    assert.ok(!gangway.output.includes('second value'), 'no log holds it');
  });

  it('ends a build that is canceled and goes on with what runs', async () => {
    const built = (script: string): Buffer =>
      archiveOf({
        Procfile: 'web: node server.js',
        'server.js': `require('node:http').createServer((_, answer) => answer.end()).listen(process.env.PORT)`,
        'build.sh': script,
      });
    const build = { buildCommand: 'sh build.sh' };
    const app = await client.runningApp('Cancel', built('true'), { build });
    await client.mustUpload(app.id, built('echo builds; exec sleep 600'));
    const id = await client.redeploy(app.id);
    await until('it builds', 20_000, async () =>
      ((await client.deployment(id))?.log ?? '').includes('builds'),
    );
    assert.equal(await client.redeploy(app.id), await client.redeploy(app.id), 'one waits behind');
    const waiting = await client.redeploy(app.id);
    const cancel = 'mutation($id: ID!) { cancelDeployment(id: $id) }';
    assert.deepEqual(await client.must(cancel, { id: waiting }), { cancelDeployment: true });
    assert.deepEqual(await client.must(cancel, { id }), { cancelDeployment: true });
    assert.deepEqual(
      [await client.finished(id), await client.finished(waiting)],
      ['canceled', 'canceled'],
    );
    assert.equal((await client.visit(app.slug)).status, 200);
    assert.deepEqual(await client.must(cancel, { id }), { cancelDeployment: false });
  });

  it('says why a deployment fails, and leaves what runs', async () => {
    const app = await client.runningApp('Broken', packed('procfile'));
    const cases: [Record<string, string>, RegExp][] = [
      [{ 'README.txt': 'nothing to run' }, /package\.json|Procfile/],
      [{ Procfile: 'web: node -e "process.exit(7)"' }, /7|ended|exit/],
      [
        { 'package.json': '{"name": "x", "scripts": {"build": "false", "start": "true"}}' },
        /build|1/,
      ],
      [{ 'package.json': '{ nonsense' }, /package\.json/],
    ];
    for (const [files, reason] of cases) {
      await client.mustUpload(app.id, archiveOf(files));
      const id = await client.redeploy(app.id);
      assert.equal(await client.finished(id), 'failed');
      const { error = '', log = '' } = (await client.deployment(id)) ?? {};
      assert.match(error ?? '', reason);
      assert.doesNotMatch(`${error ?? ''}${log}`, /Something went wrong|\/tmp\/gangway/);
      assert.equal((await client.visit(app.slug)).status, 200);
    }
  });

  it('goes to trash, comes back, and goes for good', async () => {
    const app = await client.runningApp('Gone', packed('procfile'));
    const tail = new LogTail(`${gangway.url}/api/apps/${app.id}/logs`, { cookie: client.cookie });
    await until('the log', 10_000, () => tail.log.includes('up'));
    await change('deleteApp', app.id, '');
    await until('its log ended', 20_000, () => tail.ended);
    assert.equal(tail.events.at(-1)?.event, 'exit');
    await until('no app', 20_000, async () => (await client.visit(app.slug)).status === 404);
    const { trash } = await client.must<{ trash: { id: string; kind: string; name: string }[] }>(
      '{ trash { id kind name } }',
    );
    assert.deepEqual(
      trash.map(({ kind, name }) => ({ kind, name })),
      [{ kind: 'app', name: 'Gone' }],
    );
    await change('restoreFromTrash', trash[0]?.id ?? '', '');
    await change('startApp', app.id);
    await hasStatus(app.id, 'active');
    assert.equal((await client.visit(app.slug)).status, 200);
    await change('deleteApp', app.id, '');
    await change('purgeFromTrash', app.id, '');
    const query = 'query($id: ID!) { app(id: $id) { id } trash { id } }';
    assert.deepEqual(await client.must(query, { id: app.id }), { app: null, trash: [] });
  });

  it('has a folder, and a name may be tried twice without harm', async () => {
    const create = 'mutation { createFolder(name: "Shop") { id } }';
    const { createFolder } = await client.must<{ createFolder: { id: string } }>(create);
    assert.equal(await client.fails(create), 'CONFLICT');
    const { id } = await client.createApp('In it', { folderId: createFolder.id });
    const remove = 'mutation($id: ID!) { deleteFolder(id: $id) }';
    assert.equal(await client.fails(remove, { id: createFolder.id }), 'CONFLICT');
    await client.token({ capabilities: [] });
    await client.must('mutation($id: ID!) { updateApp(id: $id, folderId: null) { folderId } }', {
      id,
    });
    assert.deepEqual(await client.must(remove, { id: createFolder.id }), { deleteFolder: true });
  });
});
