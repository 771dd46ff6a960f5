import assert from 'node:assert/strict';
import { existsSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { gunzipSync, gzipSync } from 'node:zlib';
import { tarEnd, tarHeaders } from '../../src/backups/tar/tar-header.ts';
import {
  beginBackup,
  beginRestore,
  endedRestore,
  endedRun,
  makeDestination,
  type Restore,
  type Run,
} from '../support/backups-over-graphql.ts';
import { Databases, rowsOf } from '../support/databases.ts';
import { eventually } from '../support/eventually.ts';
import { archiveOf } from '../support/gangway-client.ts';
import { Gangway } from '../support/gangway.ts';
import { McpClient } from '../support/mcp-client.ts';

const server = `require('node:http').createServer((_, answer) => answer.end(
  require('node:fs').readFileSync(process.env.APP_DATA_DIR + '/note'))).listen(process.env.PORT)`;

describe('restores', () => {
  let gangway: Gangway;
  before(async () => {
    gangway = await Gangway.open();
  });
  after(() => gangway.end());

  const backupOf = async (
    of: { appId?: string; databaseId?: string },
    encrypt: boolean,
  ): Promise<{ run: Run; destinationId: string }> => {
    const { client } = gangway;
    const destinationId = await makeDestination(client, `Disk ${Math.random()}`, { encrypt });
    const { id } = await beginBackup(client, { ...of, destinationId });
    const run = await endedRun(client, id);
    assert.deepEqual([run.status, run.error], ['success', null]);
    return { run, destinationId };
  };
  const stored = (destinationId: string): Buffer => {
    const folder = join(gangway.dataDir, 'backups', destinationId);
    const [name = ''] = readdirSync(folder);
    return readFileSync(join(folder, name));
  };
  const restored = async (runId: string): Promise<Restore> => {
    const { client } = gangway;
    const begun = await beginRestore(client, runId);
    assert.deepEqual([begun.status, begun.backupRunId], ['running', runId]);
    return await endedRestore(client, begun.id);
  };
  const upload = async (
    query: string,
    body: Uint8Array,
    headers: Record<string, string> = {},
  ): Promise<{ status: number; text: string; last: string }> => {
    const path = `/api/backups/restore-upload?${query}`;
    const { status, text } = await gangway.client.ask(path, {
      method: 'POST',
      body: new Uint8Array(body),
      headers,
    });
    return { status, text, last: text.trimEnd().split('\n').at(-1) ?? '' };
  };

  describe('of an app', () => {
    let appId: string;
    let slug: string;
    let note: string;
    before(async () => {
      const { client } = gangway;
      const app = await client.createApp('Notes', { env: [{ key: 'TONE', value: 'kind' }] });
      ({ id: appId, slug } = app);
      note = join(gangway.dataDir, 'apps', appId, 'data', 'note');
      const files = { 'app.js': server, Procfile: 'web: node app.js\n' };
      await client.mustUpload(appId, archiveOf(files));
      await client.deployed(appId);
      writeFileSync(note, 'first');
    });

    it('bring its files back from a stored backup, and start it again', async () => {
      const { run } = await backupOf({ appId }, true);
      writeFileSync(note, 'second');
      writeFileSync(`${note}-more`, 'of the second');
      const { status, error, log } = await restored(run.id);
      assert.deepEqual([status, error], ['success', null], log.join('\n'));
      assert.equal(readFileSync(note, 'utf8'), 'first');
      assert.equal(existsSync(`${note}-more`), false);
      await eventually('it answers', async () => {
        const { text } = await gangway.client.visit(slug);
        return text === 'first';
      });
    });

    it('go no further by a token, over GraphQL or MCP, than its capabilities', async () => {
      const { client } = gangway;
      const set = (autoDeploy: boolean, value: string): Promise<unknown> =>
        client.must(
          `mutation($id: ID!, $a: Boolean, $e: [EnvEntryInput!]!) {
            updateApp(id: $id, autoDeploy: $a) { id } upsertEnv(appId: $id, entries: $e) { key } }`,
          { id: appId, a: autoDeploy, e: [{ key: 'TONE', value, isSecret: false }] },
        );
      await set(true, 'kind');
      const { run } = await backupOf({ appId }, true);
      await set(false, 'rude');
      const settings = async (): Promise<unknown[]> => {
        const query = 'query($id: ID!) { app(id: $id) { autoDeploy } env(appId: $id) { value } }';
        const { app, env } = await client.must<{
          app: { autoDeploy: boolean };
          env: { value: string }[];
        }>(query, { id: appId });
        return [app.autoDeploy, ...env.map(({ value }) => value)];
      };
      const agent = new McpClient(gangway.url);
      const begin = 'mutation($id: ID!) { restoreBackup(runId: $id) { id } }';
      const headersOf = (token: string) => ({ authorization: `Bearer ${token}` });

      const others = ['manage_backups', 'configure_apps', 'manage_env', 'deploy_apps'];
      const without = await client.token({ name: 'Without', capabilities: others });
      const nobody = gangway.stranger();
      assert.equal(await nobody.fails(begin, { id: run.id }, headersOf(without)), 'FORBIDDEN');
      assert.ok(!(await agent.tools(without)).some(({ name }) => name === 'restore_backup'));
      const { result } = await agent.call(without, 'restore_backup', { runId: run.id });
      assert.ok(result === undefined || result.isError === true);

      const alone = await client.token({ name: 'Alone', capabilities: ['restore_backups'] });
      const { restoreBackup } = await nobody.must<{ restoreBackup: { id: string } }>(
        begin,
        { id: run.id },
        headersOf(alone),
      );
      const overGraphql = await endedRestore(client, restoreBackup.id);
      writeFileSync(note, 'by hand');
      const told = await agent.must<{ restoreBackup: { id: string } }>(alone, 'restore_backup', {
        runId: run.id,
      });
      const overMcp = await endedRestore(client, told.restoreBackup.id);
      for (const { status, log } of [overGraphql, overMcp]) {
        assert.equal(status, 'success', log.join('\n'));
        assert.ok(log.includes('The settings stay as they are: that needs configure_apps.'));
        assert.ok(log.includes('The variables stay as they are: that needs manage_env.'));
        assert.ok(log.includes('The upload stays as it is: That needs deploy_apps.'));
      }
      assert.equal(readFileSync(note, 'utf8'), 'first');
      assert.deepEqual(await settings(), [false, 'rude']);
      assert.equal((await restored(run.id)).status, 'success');
      assert.deepEqual(await settings(), [true, 'kind']);
    });

    it('take an uploaded artifact, and no other kind', async () => {
      const { destinationId } = await backupOf({ appId }, false);
      const artifact = stored(destinationId);
      writeFileSync(note, 'third');
      const { status, text, last } = await upload(`app=${appId}`, artifact);
      assert.deepEqual([status, last], [200, 'restore: ok'], text);
      assert.equal(readFileSync(note, 'utf8'), 'first');
      const flipped = Buffer.from(artifact);
      flipped.writeUInt8(artifact.readUInt8(100) ^ 1, 100);
      for (const [body, why] of [
        [artifact.subarray(0, -4), /ARTIFACT_CORRUPT/],
        [flipped, /ARTIFACT_CORRUPT/],
        [Buffer.concat([artifact, Buffer.from('x')]), /ARTIFACT_CORRUPT/],
        [gzipSync('PGDMP and so on'), /a backup of a PostgreSQL database.*ARTIFACT_UNFIT/],
        [gzipSync(hostile(gunzipSync(artifact))), /ARCHIVE_UNSAFE_ENTRY/],
      ] as const) {
        const refused = await upload(`app=${appId}`, body);
        assert.match(refused.last, why);
        assert.match(refused.last, /^restore: failed: /);
        assert.ok(refused.text.includes('Nothing was changed.'));
      }
      // Compressed again by another program, in members.
      const tar = gunzipSync(artifact);
      const members = [tar.subarray(0, 700), tar.subarray(700)].map((part) => gzipSync(part));
      writeFileSync(note, 'fourth');
      const again = await upload(`app=${appId}`, Buffer.concat(members));
      assert.equal(again.last, 'restore: ok', again.text);
      assert.equal(readFileSync(note, 'utf8'), 'first');
      assert.equal(existsSync(join(gangway.dataDir, 'evil')), false);
      assert.deepEqual(readdirSync(join(gangway.dataDir, 'restores')), []);
    });
  });

  describe('of a PostgreSQL', () => {
    let databases: Databases;
    let databaseId: string;
    const rows = async (...statements: string[]): Promise<unknown[]> =>
      rowsOf(await databases.reveal(databaseId), ...statements);
    before(async () => {
      databases = new Databases(gangway);
      databaseId = (await databases.running()).id;
      await rows('CREATE TABLE people (name text)', "INSERT INTO people VALUES ('Ann')");
    });

    it('bring its rows back, whether the artifact is opened or not', async () => {
      const { run, destinationId } = await backupOf({ databaseId }, true);
      const { client } = gangway;
      const { destinationRecoveryKey } = await client.must<{ destinationRecoveryKey: string }>(
        'mutation($id: ID!) { destinationRecoveryKey(id: $id) }',
        { id: destinationId },
      );
      const query = `database=${databaseId}`;
      const sealed = stored(destinationId);
      assert.equal((await upload(query, sealed)).status, 428);
      const key = { 'X-Recovery-Key': destinationRecoveryKey };
      const other = { 'X-Recovery-Key': await otherKey() };
      assert.equal((await upload(query, sealed, other)).status, 422);
      const tampered = Buffer.from(sealed);
      tampered.writeUInt8(sealed.readUInt8(sealed.length - 100) ^ 1, sealed.length - 100);
      assert.match((await upload(query, tampered, key)).last, /ARTIFACT_CORRUPT/);

      await databases.rotate(databaseId);
      await rows('DROP TABLE people');
      const back = await upload(query, sealed, key);
      assert.equal(back.last, 'restore: ok', back.text);
      assert.ok(!back.text.includes(destinationRecoveryKey));
      assert.deepEqual(await rows('SELECT * FROM people'), [{ name: 'Ann' }]);

      await rows('DROP TABLE people');
      const opened = await fetch(`${client.url}/api/backups/${run.id}/download`, {
        headers: { cookie: client.cookie },
      });
      const again = await upload(query, Buffer.from(await opened.arrayBuffer()));
      assert.equal(again.last, 'restore: ok', again.text);
      assert.deepEqual(await rows('SELECT * FROM people'), [{ name: 'Ann' }]);
    });
  });

  const otherKey = async (): Promise<string> => {
    const { client } = gangway;
    const id = await makeDestination(client, 'Another', { encrypt: true });
    const query = 'mutation($id: ID!) { destinationRecoveryKey(id: $id) }';
    return (await client.must<{ destinationRecoveryKey: string }>(query, { id }))
      .destinationRecoveryKey;
  };
});

/** The tar with a link that leads out, and a file behind it. */
function hostile(tar: Buffer): Buffer {
  const link = tarHeaders({
    name: Buffer.from('volumes/data/out'),
    type: 'link',
    ...{ size: 0, mode: 0o777, mtimeMs: 0 },
    target: Buffer.from('../../../../..'),
  });
  return Buffer.concat([tar.subarray(0, -tarEnd.length), link, tarEnd]);
}
