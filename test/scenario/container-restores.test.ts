/** What runs in containers through a backup and back, in a whole Gangway on a real daemon. */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { before, describe, it } from 'node:test';
import { gunzipSync, gzipSync } from 'node:zlib';
import { tarHeaders } from '../../src/backups/tar/tar-header.ts';
import {
  beginBackup,
  beginRestore,
  endedRestore,
  endedRun,
  makeDestination,
} from '../support/backups-over-graphql.ts';
import { cleanups } from '../support/cleanups.ts';
import { appOf, type ContainerPlace, containerPlace } from '../support/container-place.ts';
import { importDatabaseImages, redisImage } from '../support/database-images.ts';
import { Databases } from '../support/databases.ts';
import { archiveOf } from '../support/gangway-client.ts';
import { until } from '../support/gangway.ts';
import { needs } from '../support/programs.ts';

/** Keeps the note that it is sent; it does not serve where it starts with one that says that it hangs. */
const notes = `
  const fs = require('node:fs');
  const file = process.env.APP_DATA_DIR + '/note';
  const note = () => (fs.existsSync(file) ? fs.readFileSync(file, 'utf8') : '');
  if (note() === 'hang') setInterval(() => undefined, 1000);
  else require('node:http').createServer((request, answer) => {
    if (request.url.startsWith('/keep/')) fs.writeFileSync(file, request.url.slice(6));
    answer.end(note());
  }).listen(process.env.PORT);`;

describe(
  'restores in containers',
  { skip: needs('docker') || needs('redis-server', 'redis-cli') },
  () => {
    const later = cleanups();
    let place: ContainerPlace;
    let destinationId: string;
    before(async () => {
      place = await containerPlace({
        GANGWAY_DATABASE_IMAGES: `REDIS=${redisImage}`,
        GANGWAY_HEALTH_TIMEOUT_SECONDS: '60',
      });
      later(() => place.close());
      await importDatabaseImages(place.docker);
      destinationId = await makeDestination(place.gangway.client, 'Disk');
    });

    const backedUp = async (of: { appId?: string; databaseId?: string }): Promise<string> => {
      const { client } = place.gangway;
      const run = await endedRun(client, (await beginBackup(client, { ...of, destinationId })).id);
      assert.deepEqual([run.status, run.error], ['success', null]);
      return run.id;
    };
    const newest = (): Buffer => {
      const folder = join(place.gangway.dataDir, 'backups', destinationId);
      return readFileSync(join(folder, readdirSync(folder).sort().at(-1) ?? ''));
    };
    const restored = async (runId: string): Promise<{ status: string; log: string[] }> => {
      const { client } = place.gangway;
      return endedRestore(client, (await beginRestore(client, runId)).id);
    };
    const uploaded = async (query: string, body: Uint8Array): Promise<string> => {
      const path = `/api/backups/restore-upload?${query}`;
      const options = { method: 'POST', body: new Uint8Array(body) };
      return (await place.gangway.client.ask(path, options)).text.trim();
    };
    const volumes = async (id: string): Promise<string[]> => {
      const { Volumes } = await place.docker.listVolumes();
      return Volumes.map(({ Name }) => Name).filter((name) => name.includes(id));
    };

    it('bring the volume of an app back, and keep the live one until the app is well', async () => {
      const { client } = place.gangway;
      const app = await client.createApp('Visits');
      await client.mustUpload(app.id, archiveOf(appOf('one')));
      await client.deployed(app.id);
      const visits = async (): Promise<string> => (await client.visit(app.slug, '/visits')).text;
      assert.equal(await visits(), '1');
      assert.equal(await visits(), '2');
      const runId = await backedUp({ appId: app.id });
      const artifact = newest();
      assert.equal(await visits(), '3');
      const { status, log } = await restored(runId);
      assert.equal(status, 'success', log.join('\n'));
      await until('it answers', 20_000, async () => (await visits()) === '3');
      const [volume, ...more] = await volumes(app.id);
      assert.match(volume ?? '', /restored-rst_[^-]+-data$/);
      assert.deepEqual(more, []);

      const hostile = tarHeaders({ name: Buffer.from('volumes/data/out'), type: 'link', size: 0, mode: 0o777, mtimeMs: 0, target: Buffer.from('../../etc') }); // prettier-ignore
      const refused = gzipSync(Buffer.concat([hostile, gunzipSync(artifact)]));
      assert.match(await uploaded(`app=${app.id}`, refused), /failed: .*ARCHIVE_UNSAFE_ENTRY\)$/);
      assert.deepEqual(await volumes(app.id), [volume]);
      assert.equal(await visits(), '4');
      assert.match(await uploaded(`app=${app.id}`, artifact), /\nrestore: ok$/);
      await until('it answers', 20_000, async () => (await visits()) === '3');
      const [last, ...others] = await volumes(app.id);
      assert.notEqual(last, volume);
      assert.deepEqual(others, []);
    });

    it('put the previous volume back when the service is killed before the app is well', async () => {
      const { gangway } = place;
      const { client } = gangway;
      const app = await client.createApp('Notes');
      await client.mustUpload(app.id, archiveOf({ ...appOf('one'), 'server.js': notes }));
      await client.deployed(app.id);
      const note = async (path = '/'): Promise<string> => (await client.visit(app.slug, path)).text;
      assert.equal(await note('/keep/hang'), 'hang');
      const runId = await backedUp({ appId: app.id });
      assert.equal(await note('/keep/second'), 'second');
      const before = await volumes(app.id);
      const { id } = await beginRestore(client, runId);
      await until('it starts with the new volume', 90_000, async () => {
        const all = await place.containers();
        const isNew = ({ Name = '' }: { Name?: string | undefined }): boolean =>
          Name.includes(app.id) && !before.includes(Name);
        return all.some(({ State, Mounts }) => State === 'running' && Mounts.some(isNew));
      });
      await gangway.kill9();
      await gangway.start();
      const { status, error, log } = await endedRestore(client, id);
      assert.equal(status, 'failed', log.join('\n'));
      assert.match(error ?? '', /The previous data is in place\. \(RESTORE_INTERRUPTED\)$/);
      await until('it answers', 60_000, async () => (await note()) === 'second');
      assert.deepEqual(await volumes(app.id), before);
    });

    it('bring the data of a Redis back, with its password', async () => {
      const databases = new Databases(place.gangway);
      const { id } = await databases.running({ engine: 'REDIS' });
      const ask = async (line: string): Promise<string> => {
        const { output, exitCode } = await databases.exec(id, line);
        assert.equal(exitCode, 0, output);
        return output;
      };
      await ask('SET tea green');
      const runId = await backedUp({ databaseId: id });
      const password = await databases.reveal(id);
      await ask('SET tea black');
      await ask('SET more 1');
      const { status, log } = await restored(runId);
      assert.equal(status, 'success', log.join('\n'));
      assert.match(await ask('GET tea'), /green/);
      assert.match(await ask('DBSIZE'), /1/);
      assert.equal((await volumes(id)).length, 1);
      assert.equal(await databases.reveal(id), password);
      await ask('SET tea white');
      await databases.setRunning(id, false);
      await databases.setRunning(id, true);
      await databases.becomes(id, 'running');
      assert.match(await ask('GET tea'), /white/);
    });
  },
);
