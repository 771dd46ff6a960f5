/** The whole machine is gone; what is left is an artifact and its recovery key. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, readFileSync } from 'node:fs';
import { rmSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import {
  beginInstanceBackup,
  endedRun,
  makeDestination,
  makeSchedule,
  type Run,
} from '../support/backups-over-graphql.ts';
import { type DatabaseInfo, Databases, rowsOf } from '../support/databases.ts';
import { type AppInfo, archiveOf } from '../support/gangway-client.ts';
import { Gangway, until } from '../support/gangway.ts';
import { needs } from '../support/programs.ts';

const recoveryKeyOf = 'mutation($id: ID!) { destinationRecoveryKey(id: $id) }';
const seeRun = 'query($id: ID!) { backupRun(id: $id) { id } }';
const server = `require('node:http').createServer((_, answer) => answer.end(process.env.HIDDEN))
  .listen(process.env.PORT)`;

describe('a backup of the instance', () => {
  let folder: string;
  let original: Gangway;
  let app: AppInfo;
  let database: DatabaseInfo;
  let destinationId: string;
  let run: Run;

  before(async () => {
    folder = mkdtempSync(join(tmpdir(), 'gangway-instance-'));
    chmodSync(folder, 0o711);
    mkdirSync(join(folder, 'disk'));
    original = await Gangway.open({ env: { GANGWAY_BACKUP_ROOTS: join(folder, 'disk') } });
    const { client } = original;
    database = await new Databases(original).running({ name: 'Books' });
    const env = [{ key: 'HIDDEN', value: 'hunter2' }];
    app = await client.createApp('Shop', { env });
    await client.mustUpload(
      app.id,
      archiveOf({ 'server.js': server, Procfile: 'web: node server.js' }),
    );
    await client.deployed(app.id);
    const url = await new Databases(original).reveal(database.id);
    await rowsOf(url, 'CREATE TABLE kept (n int)', 'INSERT INTO kept VALUES (7)');
    const path = join(folder, 'disk');
    destinationId = await makeDestination(client, 'Vault', { encrypt: true, path });
  });
  after(() => rmSync(folder, { recursive: true, force: true }));
  after(() => original.end());

  const stored = (): string[] =>
    readdirSync(join(folder, 'disk', destinationId)).map((name) =>
      join(folder, 'disk', destinationId, name),
    );
  const artifact = (): string => stored()[0] ?? '';
  const key = (): string => join(folder, 'identity');
  const download = (path: string): Promise<Response> =>
    fetch(`${original.client.url}${path}`, { headers: { cookie: original.client.cookie } });

  it('goes to no destination that does not encrypt', async () => {
    const { client } = original;
    const plain = await makeDestination(client, 'Plain');
    const begin = 'mutation($d: ID!) { runInstanceBackup(destinationId: $d) { id } }';
    assert.equal(await client.fails(begin, { d: plain }), 'ENCRYPTION_REQUIRED');
    assert.equal(await client.fails(begin, { d: 'dst_none' }), 'NOT_FOUND');
    const both = `mutation($i: CreateBackupScheduleInput!) {
      createBackupSchedule(input: $i) { id } }`;
    const input = { appId: app.id, instance: true, destinationId, cron: '@daily' };
    assert.equal(await client.fails(both, { i: input }), 'BAD_USER_INPUT');
  });

  it('leaves nothing where Gangway is killed halfway', async () => {
    const { client } = original;
    const snapshots = join(original.dataDir, 'snapshots');
    // Takes long to read, and nothing to copy.
    const hollow = join(original.dataDir, 'apps', app.id, 'data', 'hollow');
    writeFileSync(hollow, '');
    truncateSync(hollow, 32 * 2 ** 30);
    const { id } = await beginInstanceBackup(client, destinationId);
    const written = (): number => (artifact().endsWith('.part') ? statSync(artifact()).size : 0);
    // More than begins any artifact: the copy is made, and read.
    await until('it is written', 60_000, () => written() > 100_000);
    assert.equal(readdirSync(snapshots).length, 1);
    await original.kill9();
    rmSync(hollow);
    await original.start();
    original.client = await original.signIn();
    const lost = await endedRun(original.client, id);
    assert.deepEqual([lost.status, lost.instance, lost.sha256], ['failed', true, null]);
    assert.match(lost.error ?? '', /BACKUP_INTERRUPTED/);
    await until('nothing is left of it', 60_000, () => {
      return stored().length === 0 && readdirSync(snapshots).length === 0;
    });
  });

  it('is made, and read back', async () => {
    const { client } = original;
    const begun = await beginInstanceBackup(client, destinationId);
    run = await endedRun(client, begun.id);
    assert.deepEqual([run.status, run.error, run.encrypted], ['success', null, true]);
    assert.ok(run.instance && run.appId === null && run.databaseId === null);
    assert.match(artifact(), /\/instance-\d{8}T\d{6}Z-run_\w+\.tar\.gz\.age$/);
    assert.deepEqual(readdirSync(join(original.dataDir, 'snapshots')), []);
    const { backupRuns } = await client.must<{ backupRuns: { nodes: object[] } }>(
      '{ backupRuns { nodes { id instance } } }',
    );
    assert.deepEqual(backupRuns.nodes[0], { id: run.id, instance: true });
    await makeSchedule(client, { instance: true, destinationId });
    const { backupSchedules } = await client.must<{ backupSchedules: { instance: boolean }[] }>(
      '{ backupSchedules { instance } }',
    );
    assert.deepEqual(backupSchedules, [{ instance: true }]);
  });

  it('is for the administrator alone, who gets it as it is stored', async () => {
    const { client } = original;
    for (const path of ['download', 'download?raw=1']) {
      const answer = await download(`/api/backups/${run.id}/${path}`);
      assert.equal(answer.headers.get('content-type'), 'application/octet-stream');
      assert.match(answer.headers.get('content-disposition') ?? '', /\.tar\.gz\.age"$/);
      assert.ok(Buffer.from(await answer.arrayBuffer()).equals(readFileSync(artifact())));
    }
    const capabilities = ['manage_backups', 'restore_backups', 'manage_backup_destinations'];
    const token = await client.token({ name: 'Agent', capabilities });
    const headers = { authorization: `Bearer ${token}` };
    const nobody = original.stranger();
    const found = await nobody.must<{ backupRun: null }>(seeRun, { id: run.id }, headers);
    assert.equal(found.backupRun, null);
    const all = '{ backupRuns { nodes { id } } backupSchedules { id } }';
    const seen = await nobody.must<Record<string, unknown>>(all, {}, headers);
    assert.deepEqual(seen, { backupRuns: { nodes: [] }, backupSchedules: [] });
    for (const [document, code] of [
      ['mutation($id: ID!) { restoreBackup(runId: $id) { id } }', 'NOT_FOUND'],
      ['mutation($id: ID!) { deleteBackupRun(runId: $id) }', 'NOT_FOUND'],
      ['mutation($id: ID!) { cancelBackupRun(id: $id) }', 'NOT_FOUND'],
    ] as const) {
      assert.equal(await nobody.fails(document, { id: run.id }, headers), code, document);
    }
    assert.equal(await nobody.fails(recoveryKeyOf, { id: destinationId }, headers), 'FORBIDDEN');
    const { destinationRecoveryKey } = await client.must<{ destinationRecoveryKey: string }>(
      recoveryKeyOf,
      { id: destinationId },
    );
    writeFileSync(key(), `# of the vault\n${destinationRecoveryKey}\n`);
  });

  it('is restored by the command alone, which every other way names', async () => {
    const { client } = original;
    const restore = 'mutation($id: ID!) { restoreBackup(runId: $id) { id } }';
    assert.equal(await client.fails(restore, { id: run.id }), 'ARTIFACT_UNFIT');
    const recoveryKey = readFileSync(key(), 'utf8').split('\n')[1] ?? '';
    const { status, text } = await client.ask(`/api/backups/restore-upload?app=${app.id}`, {
      method: 'POST',
      body: new Uint8Array(readFileSync(artifact())),
      headers: { 'X-Recovery-Key': recoveryKey },
    });
    assert.equal(status, 200);
    assert.match(text, /restore: failed: .*gangway restore <artifact>.*\(ARTIFACT_UNFIT\)\n$/);
    const running = await original.run(['restore', artifact(), '--identity', key()]);
    assert.equal(running.code, 1);
    assert.match(running.text, /is not empty, and in use by a Gangway that runs/);
  });

  it('brings everything back, where the machine is gone', async (t) => {
    await original.stop();
    const fresh = await Gangway.create({
      dataDir: join(folder, 'fresh'),
      runBy: ['/bin/sh', '-c', `exec "$@" < ${artifact()}`, 'sh'],
    });
    t.after(() => fresh.end());
    writeFileSync(join(folder, 'other'), `AGE-SECRET-KEY-1${'Q'.repeat(58)}\n`);
    const wrong = await fresh.run(['restore', '-', '--identity', join(folder, 'other')]);
    assert.equal(wrong.code, 1);
    assert.match(wrong.text, /RECOVERY_KEY_WRONG/);
    const back = await fresh.run(['restore', '-', '--identity', key()]);
    assert.equal(back.code, 0, back.text);
    assert.match(back.text, /^gangway: [\d,]+ files, [\d.]+ MB\nRestored to \S+\n$/);
    await original.end();

    await fresh.start();
    fresh.client = await fresh.signIn();
    const { client } = fresh;
    await until('the app serves its secret', 60_000, async () => {
      const { status, text } = await client.visit(app.slug);
      return status === 200 && text === 'hunter2';
    });
    const databases = new Databases(fresh);
    await databases.becomes(database.id, 'running');
    const rows = await rowsOf(await databases.reveal(database.id), 'SELECT n FROM kept');
    assert.deepEqual(rows, [{ n: 7 }]);
    await client.deployed(app.id);
    const own = await endedRun(client, run.id);
    assert.equal(own.status, 'failed', 'as the copy knows it');
    assert.ok(readFileSync(artifact()).length > 0, 'it is still there');
    const { destinationRecoveryKey } = await client.must<{ destinationRecoveryKey: string }>(
      recoveryKeyOf,
      { id: destinationId },
    );
    assert.ok(readFileSync(key(), 'utf8').includes(destinationRecoveryKey));
  });

  it('opens with age, gunzip and tar', { skip: needs('age', 'gzip', 'tar') }, async (t) => {
    const into = join(folder, 'copy');
    // As docs/operations.md says it.
    const steps = 'mkdir "$2" && age -d -i "$1" "$0" | gunzip | tar x -C "$2"';
    execFileSync('/bin/sh', ['-c', steps, artifact(), key(), into]);
    const second = await Gangway.create({ dataDir: join(folder, 'second') });
    t.after(() => second.end());
    const back = await second.run(['restore', into]);
    assert.equal(back.code, 0, back.text);
    await second.start();
    second.client = await second.signIn();
    assert.equal((await endedRun(second.client, run.id)).status, 'failed');
    await until('the app serves', 60_000, async () => {
      return (await second.client.visit(app.slug)).text === 'hunter2';
    });
  });
});
