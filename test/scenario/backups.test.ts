import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, realpathSync, statfsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { gunzipSync } from 'node:zlib';
import {
  beginBackup,
  endedRun,
  makeDestination,
  makeSchedule,
  type Run,
  seenRun,
} from '../support/backups-over-graphql.ts';
import { eventually } from '../support/eventually.ts';
import { archiveOf } from '../support/gangway-client.ts';
import { Gangway } from '../support/gangway.ts';
import { smallDisk } from '../support/small-disk.ts';

describe('backups', () => {
  let gangway: Gangway;
  let appId: string;
  let destinationId: string;

  before(async () => {
    gangway = await Gangway.open({
      env: { GANGWAY_BACKUP_JITTER_SECONDS: '0', GANGWAY_BACKUP_ROOTS: realpathSync(tmpdir()) },
    });
    const { client } = gangway;
    const env = [
      { key: 'PLAIN', value: 'seen', isSecret: false },
      { key: 'HIDDEN', value: 'hunter2' },
    ];
    const app = await client.createApp('Shop', { env });
    appId = app.id;
    await client.mustUpload(appId, archiveOf({ 'index.html': '<p>Hello' }));
    destinationId = await makeDestination(client, 'Disk');
  });
  after(() => gangway.end());

  const folder = (id: string): string => join(gangway.dataDir, 'backups', id);

  const download = (id: string, headers: Record<string, string> = {}): Promise<Response> =>
    fetch(`${gangway.client.url}/api/backups/${id}/download`, {
      headers: { cookie: gangway.client.cookie, ...headers },
    });

  it('write an app to a folder, and give it back by a resumable download', async () => {
    const { client } = gangway;
    const begun = await beginBackup(client, { appId, destinationId });
    assert.equal(begun.status, 'running');
    const run = await endedRun(client, begun.id);
    assert.deepEqual([run.status, run.error, run.encrypted], ['success', null, false]);
    assert.ok(run.verifiedAt !== null && run.sizeBytes === run.progressBytes);
    const [name = ''] = readdirSync(folder(destinationId));
    assert.match(name, /^shop-\d{8}T\d{6}Z-run_\w+\.tar\.gz$/);
    const stored = readFileSync(join(folder(destinationId), name));
    const whole = await download(run.id);
    assert.equal(whole.headers.get('content-length'), String(stored.length));
    assert.equal(whole.headers.get('etag'), `"${run.sha256 ?? ''}"`);
    assert.ok(Buffer.from(await whole.arrayBuffer()).equals(stored));
    const rest = await download(run.id, { range: 'bytes=100-' });
    assert.equal(rest.status, 206);
    assert.ok(Buffer.from(await rest.arrayBuffer()).equals(stored.subarray(100)));
    const tar = gunzipSync(stored).toString('latin1');
    assert.ok(tar.includes('app.json') && tar.includes('"seen"'));
    assert.ok(!tar.includes('hunter2'), 'no secret where everybody can read');
  });

  it('fail onto a disk that gets full, and leave no file and take no room there', async (t) => {
    const disk = smallDisk(t, 4);
    if (disk === undefined) return;
    const { client } = gangway;
    const { id } = await client.createApp('Large');
    // Base64, which compresses to what it was.
    const files = { 'index.html': randomBytes(6 * 2 ** 20).toString('base64') };
    await client.mustUpload(id, archiveOf(files));
    const path = join(realpathSync(disk), 'kept');
    const full = await makeDestination(client, 'Full', { path });
    const room = statfsSync(path).bavail;
    const begun = await beginBackup(client, { appId: id, destinationId: full });
    const run = await endedRun(client, begun.id);
    assert.deepEqual([run.status, run.sizeBytes, run.verifiedAt], ['failed', null, null]);
    assert.match(run.error ?? '', /\(STORAGE_FULL\)$/);
    await eventually('it is removed', () => readdirSync(join(path, full)).length === 0);
    assert.equal(statfsSync(path).bavail, room);
  });

  it('encrypt for the recovery key alone, and are opened for who downloads them', async () => {
    const { client } = gangway;
    const sealed = await makeDestination(client, 'Vault', { encrypt: true });
    const { id } = await beginBackup(client, { appId, destinationId: sealed });
    const run = await endedRun(client, id);
    assert.deepEqual([run.status, run.error, run.encrypted], ['success', null, true]);
    const [name = ''] = readdirSync(folder(sealed));
    assert.match(name, /\.tar\.gz\.age$/);
    const stored = readFileSync(join(folder(sealed), name));
    assert.ok(stored.subarray(0, 21).equals(Buffer.from('age-encryption.org/v1')));
    const opened = Buffer.from(await (await download(id)).arrayBuffer());
    assert.ok(gunzipSync(opened).toString('latin1').includes('hunter2'));
  });

  it('are told by page, by app, and to nobody of another team', async () => {
    const { client } = gangway;
    const page = await client.must<{
      backupRuns: { nodes: Run[]; pageInfo: { hasNextPage: boolean; endCursor: string } };
    }>(
      'query($a: ID) { backupRuns(appId: $a, first: 1) { nodes { id } pageInfo { hasNextPage endCursor } } }',
      { a: appId },
    );
    assert.equal(page.backupRuns.nodes.length, 1);
    assert.equal(page.backupRuns.pageInfo.hasNextPage, true);
    const next = await client.must<{ backupRuns: { nodes: Run[] } }>(
      'query($a: ID, $c: String) { backupRuns(appId: $a, after: $c) { nodes { id } } }',
      { a: appId, c: page.backupRuns.pageInfo.endCursor },
    );
    assert.equal(next.backupRuns.nodes.length, 1);
    assert.notEqual(next.backupRuns.nodes[0]?.id, page.backupRuns.nodes[0]?.id);
  });

  it('follow a schedule, which is refused for what does not fit', async () => {
    const { client } = gangway;
    const own = await makeDestination(client, 'Minutely');
    await makeSchedule(client, { appId, destinationId: own, cron: '* * * * *', keep: 1 });
    const create =
      'mutation($i: CreateBackupScheduleInput!) { createBackupSchedule(input: $i) { id } }';
    for (const [input, code] of [
      [{ appId, cron: 'soon' }, 'BAD_USER_INPUT'],
      [{ appId, cron: '@daily', timezone: 'Mars/Base' }, 'BAD_USER_INPUT'],
      [{ appId, cron: '@daily', keep: 0 }, 'BAD_USER_INPUT'],
      [{ cron: '@daily' }, 'BAD_USER_INPUT'],
      [{ appId, databaseId: 'db_none', cron: '@daily' }, 'BAD_USER_INPUT'],
      [{ instance: true, cron: '@daily' }, 'ENCRYPTION_REQUIRED'],
      [{ instance: true, appId, cron: '@daily' }, 'BAD_USER_INPUT'],
      [{ appId, cron: '@daily', destinationId: 'dst_none' }, 'NOT_FOUND'],
    ] as const) {
      const i = { destinationId: own, ...input };
      assert.equal(await client.fails(create, { i }), code);
    }
    await eventually(
      'a run',
      () => existsSync(folder(own)) && readdirSync(folder(own)).length > 0,
      90_000,
    );
    const remove = 'mutation($id: ID!) { deleteDestination(id: $id) }';
    assert.equal(await client.fails(remove, { id: own }), 'CONFLICT');
  });

  it('dump a running database, and are refused for a stopped one with the reason', async () => {
    const { client } = gangway;
    const { createDatabase } = await client.must<{ createDatabase: { id: string } }>(
      'mutation { createDatabase(input: { name: "Books", engine: POSTGRES }) { id } }',
    );
    const { id: databaseId } = createDatabase;
    const status = 'query($id: ID!) { database(id: $id) { status } }';
    await eventually('it runs', async () => {
      const seen = await client.must<{ database: { status: string } }>(status, { id: databaseId });
      return seen.database.status === 'running';
    });
    const { id } = await beginBackup(client, { databaseId, destinationId });
    const run = await endedRun(client, id);
    assert.deepEqual([run.status, run.error, run.databaseId], ['success', null, databaseId]);
    await client.must('mutation($id: ID!) { setDatabaseRunning(id: $id, running: false) { id } }', {
      id: databaseId,
    });
    const late = await beginBackup(client, { databaseId, destinationId });
    const refused = await endedRun(client, late.id);
    assert.equal(refused.status, 'failed');
    assert.match(refused.error ?? '', /\(NOT_RUNNING\)$/);
  });

  it('that were under way at kill -9 are failed at the next start, or done', async () => {
    const { client } = gangway;
    const own = await makeDestination(client, 'Torn');
    const { id } = await beginBackup(client, { appId, destinationId: own });
    await gangway.kill9();
    await gangway.start();
    const run = await endedRun(client, id);
    if (run.status === 'failed') assert.match(run.error ?? '', /\(BACKUP_INTERRUPTED\)$/);
    const left = readdirSync(folder(own));
    assert.equal(left.length, run.status === 'success' ? 1 : 0);
  });

  it('are deleted with their artifact, and are in the activity', async () => {
    const { client } = gangway;
    const { id } = await beginBackup(client, { appId, destinationId });
    await endedRun(client, id);
    const before = readdirSync(folder(destinationId)).length;
    await client.must('mutation($id: ID!) { deleteBackupRun(runId: $id) }', { id });
    assert.equal(readdirSync(folder(destinationId)).length, before - 1);
    assert.equal(await seenRun(client, id), null);
    assert.equal((await download(id)).status, 404);
    const { activity } = await client.must<{
      activity: { nodes: { action: string; target: string | null }[] };
    }>('{ activity { nodes { action target } } }');
    for (const action of ['runBackup', 'deleteBackupRun', 'download_backup']) {
      assert.ok(
        activity.nodes.some((one) => one.action === action && one.target?.includes('Shop')),
        action,
      );
    }
  });
});
