/** Databases in containers, by images that are made of programs of this machine. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { before, describe, it } from 'node:test';
import { cleanups } from '../support/cleanups.ts';
import { appOf, containerPlace } from '../support/container-place.ts';
import type { ContainerPlace } from '../support/container-place.ts';
import { ConsoleClient } from '../support/console-client.ts';
import { importDatabaseImages, postgresImage, redisImage } from '../support/database-images.ts';
import { Databases, oddPassword, refuses, rowsOf, run, runMariadb } from '../support/databases.ts';
import { needs, programPath } from '../support/programs.ts';
import { archiveOf } from '../support/gangway-client.ts';
import { until } from '../support/gangway.ts';
import { importMariadbImage, mariadbImage } from '../support/mariadb-image.ts';
import { startRegistry } from '../support/registry.ts';
import type { TestRegistry } from '../support/registry.ts';

const login = { username: 'ada', password: 'secret-of-ada' };
const noMariadb = needs('mariadbd', 'mariadb');

describe(
  'databases in containers',
  { skip: needs('docker') || needs('redis-server', 'redis-cli') },
  () => {
    const later = cleanups();
    let place: ContainerPlace;
    let databases: Databases;
    let registry: TestRegistry;
    before(async () => {
      // No MongoDB is to be had: what listens where one would, with a client that succeeds.
      registry = await startRegistry({
        repository: 'team/mongo',
        tag: '8.0',
        files: {
          'bin/busybox': readFileSync(programPath('busybox') ?? '/bin/busybox'),
          'bin/sh': readFileSync(programPath('busybox') ?? '/bin/busybox'),
          'bin/mongosh': Buffer.from('#!/bin/busybox sh\nexit 0\n'),
        },
        config: {
          Cmd: ['/bin/busybox', 'httpd', '-f', '-p', '27017', '-h', '/bin'],
          Env: ['PATH=/bin'],
        },
        login,
      });
      later(() => registry.close());
      const images = {
        POSTGRES: postgresImage,
        REDIS: redisImage,
        MARIADB: mariadbImage,
        MONGODB: `${registry.host}/team/mongo:{version}`,
      };
      place = await containerPlace({
        GANGWAY_DATABASE_IMAGES: Object.entries(images).map((pair) => pair.join('=')).join(','), // prettier-ignore
        GANGWAY_HEALTH_TIMEOUT_SECONDS: '60',
      });
      later(() => place.close());
      await Promise.all([
        importDatabaseImages(place.docker),
        noMariadb === false && importMariadbImage(place.docker),
      ]);
      databases = new Databases(place.gangway);
    });

    it('PostgreSQL is made over a kill of the service, rotated, stopped and started with its data', async () => {
      const { id, version } = await databases.create({ resources: { memoryMb: 512 } });
      assert.equal(version, '18');
      const own = async (): Promise<number> =>
        (await place.containers()).filter(({ Names }) => Names.join().includes(id)).length;
      await until('its container is there', 60_000, async () => (await own()) > 0);
      await place.gangway.restart();
      await databases.becomes(id, 'running');
      assert.equal(await own(), 1);
      const address = await databases.reveal(id);
      const rows = await rowsOf(
        address,
        "CREATE TABLE t AS SELECT 'tea' AS what",
        'SELECT what, current_user AS me FROM t',
      );
      assert.deepEqual(rows, [{ what: 'tea', me: 'app' }]);
      const path = `/api/databases/${id}/attach`;
      const psql = await ConsoleClient.open(place.gangway.client, path, '?cols=100&rows=40');
      await psql.sees('=>');
      await psql.type('SELECT 40 + length(what) AS sum FROM t;\r');
      await psql.sees(/sum[^]*43[^]*\(1 row\)/);
      psql.drop();
      const back = await psql.back();
      await back.sees('(1 row)');
      await back.type('\\conninfo\r');
      await back.sees(/app/);
      await back.type('\\q\r');
      await back.ends('exit');
      const rotated = await databases.rotate(id);
      assert.ok(await refuses(address));
      await databases.setRunning(id, false);
      await until('it is stopped', 30_000, () => refuses(rotated));
      await databases.setRunning(id, true);
      await databases.becomes(id, 'running');
      assert.deepEqual(await rowsOf(rotated, 'SELECT what FROM t'), [{ what: 'tea' }]);
      assert.match(await databases.log(id), /ready to accept connections/);
      await databases.delete(id);
      await databases.purge(id);
      const { Volumes } = await place.docker.listVolumes();
      assert.ok(Volumes.every(({ Name }) => !Name.includes(id)));
    });

    describe('one beside the other', { concurrency: 4 }, () => {
      it('Redis has a console, another password and its data after a restart', async () => {
        const { id } = await databases.running({
          engine: 'REDIS',
          password: 'odd "and" \\spaced\\',
        });
        assert.equal((await databases.exec(id, 'SET tea green')).output, 'OK\n');
        const get = ['--no-auth-warning', '-e', '-u', await databases.reveal(id), 'GET', 'tea'];
        assert.equal(await run('redis-cli', get), 'green\n');
        await databases.rotate(id);
        await assert.rejects(run('redis-cli', get));
        assert.equal((await databases.exec(id, 'GET tea')).output, '"green"\n');
        const path = `/api/databases/${id}/attach`;
        const client = await ConsoleClient.open(place.gangway.client, path);
        await promptOf(client);
        // By then it has the terminal as it wants it, and drops no more of what was typed.
        await client.sees('6379>');
        await client.type('GET tea\r');
        await client.sees(/"green"/);
        await client.type('QUIT\r');
        await client.ends('exit');
        await databases.setRunning(id, false);
        await databases.setRunning(id, true);
        await databases.becomes(id, 'running');
        assert.equal((await databases.exec(id, 'GET tea')).output, '"green"\n');
        await databases.delete(id);
      });

      it(
        'MariaDB takes its own client, another password and a console, and keeps its data',
        { skip: noMariadb },
        async () => {
          const { id, version } = await databases.running({
            name: 'Shop data',
            engine: 'MARIADB',
            databaseName: 'shop_1',
            username: 'ann',
            password: oddPassword,
          });
          assert.equal(version, '11.8');
          const address = await databases.reveal(id);
          assert.match(address, /^mysql:\/\/ann:[^@]+@127\.0\.0\.1:\d+\/shop_1$/);
          await runMariadb(address, "CREATE TABLE t (what text); INSERT INTO t VALUES ('tea')");
          await assert.rejects(runMariadb(address, 'CREATE DATABASE other'));
          const uptime = (url: string): Promise<string> =>
            runMariadb(url, "SHOW GLOBAL STATUS LIKE 'Uptime'");
          const before = Number.parseInt((await uptime(address)).split('\t').at(-1) ?? '', 10);
          const rotated = await databases.rotate(id);
          await assert.rejects(runMariadb(address, 'SELECT 1'), /Access denied/);
          const since = Number.parseInt((await uptime(rotated)).split('\t').at(-1) ?? '', 10);
          assert.ok(since >= before, 'it was not started anew');

          const { output, exitCode } = await databases.exec(id, 'SELECT what FROM t');
          assert.equal(exitCode, 0);
          assert.match(output, /\| tea +\|/);
          assert.notEqual((await databases.exec(id, 'SELECT nothing')).exitCode, 0);
          const console = await ConsoleClient.open(
            place.gangway.client,
            `/api/databases/${id}/attach`,
          );
          await console.sees('MariaDB [shop_1]>');
          await console.type('SELECT 40 + 2;\r');
          await console.sees(/\| +42 \|/);
          await console.type('quit\r');
          await console.ends('exit');

          await databases.setRunning(id, false);
          await until('it is stopped', 30_000, () => runMariadb(rotated, 'SELECT 1').then(() => false, () => true)); // prettier-ignore
          await databases.setRunning(id, true);
          await databases.becomes(id, 'running');
          assert.equal(await runMariadb(rotated, 'SELECT what FROM t'), 'what\ntea\n');
          await databases.delete(id);
          const { trash } = await place.gangway.client.must<{ trash: { name: string }[] }>(
            '{ trash { name } }',
          );
          assert.ok(trash.some(({ name }) => name === 'Shop data'));
          const { Volumes } = await place.docker.listVolumes();
          assert.ok(
            Volumes.some(({ Name }) => Name.includes(id)),
            'its data is kept',
          );
        },
      );

      it('are pulled with the logins of their team, and say in their log what keeps them from it', async () => {
        const { id } = await databases.create({ engine: 'MONGODB' });
        await databases.becomes(id, 'error');
        const reference = `${registry.host}/team/mongo:8.0`;
        const refused = `The registry refused ${reference}: it wants a login.`;
        assert.equal((await databases.mustSee(id)).error, refused);
        const told = `Pulling ${reference}.\n${refused}`;
        await until('the log says it', 20_000, async () =>
          (await databases.log(id)).includes(told),
        );
        await place.gangway.client.must(
          `mutation($host: String!, $password: String!) {
        addRegistry(name: "Ours", host: $host, username: "ada", password: $password) { id }
      }`,
          { host: registry.host, password: login.password },
        );
        await databases.setRunning(id, true);
        await until(
          'it runs',
          60_000,
          async () => (await databases.mustSee(id)).status === 'running',
        );
        const log = await databases.log(id);
        assert.ok(log.split(`Pulling ${reference}.`).length > 2, log);
        assert.ok(!log.includes(login.password));

        const { id: missing } = await databases.create({ engine: 'MONGODB', version: '7.0' });
        await databases.becomes(missing, 'error');
        const none = `There is no image ${registry.host}/team/mongo:7.0.`;
        assert.equal((await databases.mustSee(missing)).error, none);
        await until('the log says it', 20_000, async () =>
          (await databases.log(missing)).includes(none),
        );
        for (const one of [id, missing]) await databases.delete(one);
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
  },
);

/**
 * What is typed before its prompt is there redis-cli throws away. Where it does not know the width of its
 * terminal yet, it asks for the place of the cursor, which a terminal answers.
 */
async function promptOf(client: ConsoleClient): Promise<void> {
  let answered = 0;
  await until('the prompt of redis-cli', 30_000, async () => {
    const questions = client.text.split('\u001b[6n').length - 1;
    for (; answered < questions; answered++) await client.type('\u001b[1;80R');
    return client.text.includes('6379> ');
  });
}
