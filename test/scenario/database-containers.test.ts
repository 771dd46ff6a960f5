/** Databases in containers, by images that are made of programs of this machine. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { appOf, containerPlace } from '../support/container-place.ts';
import type { ContainerPlace } from '../support/container-place.ts';
import { importDatabaseImages, postgresImage, redisImage } from '../support/database-images.ts';
import { Databases, lacks, refuses, rowsOf } from '../support/databases.ts';
import { noDocker } from '../support/docker-daemon.ts';
import { archiveOf } from '../support/gangway-client.ts';
import { until } from '../support/gangway.ts';

describe('databases in containers', { skip: noDocker() || lacks('redis-server') }, () => {
  let place: ContainerPlace;
  let databases: Databases;
  before(async () => {
    place = await containerPlace({
      GANGWAY_DATABASE_IMAGES: `POSTGRES=${postgresImage},REDIS=${redisImage}`,
      GANGWAY_HEALTH_TIMEOUT_SECONDS: '60',
    });
    await importDatabaseImages(place.docker);
    databases = new Databases(place.gangway);
  });
  after(() => place.close());

  it('PostgreSQL is made, rotated, stopped and started with its data', async () => {
    const { id, version } = await databases.running({ resources: { memoryMb: 512 } });
    assert.equal(version, '18');
    const address = await databases.reveal(id);
    const rows = await rowsOf(
      address,
      "CREATE TABLE t AS SELECT 'tea' AS what",
      'SELECT what, current_user AS me FROM t',
    );
    assert.deepEqual(rows, [{ what: 'tea', me: 'app' }]);
    const rotated = await databases.rotate(id);
    assert.ok(await refuses(address));
    await databases.setRunning(id, false);
    await until('it is stopped', 30_000, () => refuses(rotated));
    await databases.setRunning(id, true);
    await databases.becomes(id, 'running');
    assert.deepEqual(await rowsOf(rotated, 'SELECT what FROM t'), [{ what: 'tea' }]);
    const { logs } = await place.gangway.client.must<{ logs: { nodes: { text: string }[] } }>(
      'query($id: ID!) { logs(databaseId: $id) { nodes { text } } }',
      { id },
    );
    assert.ok(logs.nodes.some(({ text }) => text.includes('ready to accept connections')));
    await databases.delete(id);
    await place.gangway.client.must('mutation($id: ID!) { purgeFromTrash(id: $id) }', { id });
    const { Volumes } = await place.docker.listVolumes();
    assert.ok(Volumes.every(({ Name }) => !Name.includes(id)));
  });

  it('Redis has a console, another password and its data after a restart', async () => {
    const { id } = await databases.running({ engine: 'REDIS', password: 'odd "and" \\spaced\\' });
    assert.equal((await databases.exec(id, 'SET tea green')).output, 'OK\n');
    await databases.rotate(id);
    assert.equal((await databases.exec(id, 'GET tea')).output, '"green"\n');
    await databases.setRunning(id, false);
    await databases.setRunning(id, true);
    await databases.becomes(id, 'running');
    assert.equal((await databases.exec(id, 'GET tea')).output, '"green"\n');
    await databases.delete(id);
  });

  it('are reached by apps of their team by name', async () => {
    const { id } = await databases.running({ engine: 'REDIS' });
    const app = await place.gangway.client.createApp('Shop', {
      env: [{ key: 'CACHE_HOST', value: `\${database.${id}.host}:\${database.${id}.port}` }],
    });
    await place.gangway.client.mustUpload(app.id, archiveOf(appOf('one')));
    await place.gangway.client.deployed(app.id);
    const { text } = await place.gangway.client.visit(app.slug, '/env');
    const host = (JSON.parse(text) as Record<string, string>)['CACHE_HOST'] ?? '';
    assert.match(host, /^db-[0-9a-z]+\.internal:6379$/);
    // Redis ends a connection that speaks HTTP: it was reached.
    const { text: said } = await place.gangway.client.visit(app.slug, `/ask?http://${host}/`);
    assert.doesNotMatch(said, /ENOTFOUND|ECONNREFUSED|EAI_AGAIN/);
    await databases.delete(id);
  });
});
