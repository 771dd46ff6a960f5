/** Databases in containers through a backup and back. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import Docker from 'dockerode';
import pg from 'pg';

import { feed } from '../../../src/backups/client-program.ts';
import { mariadbClient } from '../../../src/backups/mariadb-client.ts';
import { databaseSource } from '../../../src/backups/sources/database-sources.ts';
import { tarEnd } from '../../../src/backups/tar/tar-header.ts';
import { textEntry } from '../../../src/backups/tar/tar-tree.ts';
import { ContainerDatabase } from '../../support/container-database.ts';
import { importDatabaseImages, postgresImage, redisImage } from '../../support/database-images.ts';
import { collected, databaseServer, pieces } from '../../support/database-server.ts';
import { dockerPlace, type DockerPlace } from '../../support/docker-place.ts';
import { importMariadbImage, mariadbImage } from '../../support/mariadb-image.ts';
import { needs } from '../../support/programs.ts';

const never = new AbortController().signal;
const programs = ['docker', 'redis-server', 'redis-cli', 'mariadbd', 'mariadb'] as const;

describe('databases in containers', { skip: needs(...programs) }, () => {
  let place: DockerPlace;
  before(async () => {
    place = await dockerPlace();
    const docker = new Docker({ socketPath: place.daemon.socket });
    await importDatabaseImages(docker);
    await importMariadbImage(docker);
  });
  after(() => place.close());

  const query = async (at: pg.ClientConfig, text: string): Promise<unknown[]> => {
    const client = new pg.Client(at);
    await client.connect();
    try {
      return (await client.query<Record<string, unknown>>(text)).rows;
    } finally {
      await client.end();
    }
  };

  it('take a base backup of PostgreSQL with the settings that are there, or leave what is there', async () => {
    const nothing = { find: () => Promise.resolve(null), ask: () => Promise.resolve(null) };
    const here = await databaseServer('POSTGRES', null, nothing);
    let bytes: Buffer;
    try {
      const { socket, port, username: user, password, databaseName: database } = here.target;
      const at = { host: socket ?? '', port, user, password, database };
      const teas = "SELECT i, 'tea ' || i AS name FROM generate_series(1, 3000) i";
      await query(at, `CREATE TABLE teas AS ${teas}`);
      bytes = await collected((await databaseSource(here.target)).read(never));
    } finally {
      await here.close();
    }
    const { version } = here.target;
    const major = `${version.split('.')[0] ?? ''}\n`;
    const kind = { engine: 'POSTGRES', image: postgresImage, version } as const;
    const there = await ContainerDatabase.start(place, kind);
    try {
      const { port, username: user, password } = there.server;
      const at = { host: '127.0.0.1', port, database: 'shop', user, password };
      await query(at, 'CREATE TABLE live AS SELECT 1 AS one');
      for (const bad of [
        bytes.subarray(0, bytes.length - 100_000),
        Buffer.concat([...textEntry('PG_VERSION', '9\n'), tarEnd]),
        Buffer.concat([...textEntry('PG_VERSION', major), tarEnd]),
      ]) {
        await assert.rejects(there.restore('base.tar', bad), /The data is as it was\.$/);
      }
      const names = ['PG_VERSION', 'global/pg_control', 'backup_label'];
      const broken = names.flatMap((name) => [...textEntry(name, major)]);
      const failing = there.restore('base.tar', Buffer.concat([...broken, tarEnd]));
      await assert.rejects(failing, /The previous data is back\.$/);
      assert.deepEqual(await query(at, 'SELECT * FROM live'), [{ one: 1 }]);
      await there.restore('base.tar', bytes);
      const found = await query(at, 'SELECT count(*)::int AS n, max(i) AS m FROM teas');
      assert.deepEqual(found, [{ n: 3000, m: 3000 }]);
    } finally {
      await there.close();
    }
  });

  it('bring MariaDB back, with what belongs to it', async () => {
    const kind = { engine: 'MARIADB', image: mariadbImage, version: '10.11' } as const;
    const there = await ContainerDatabase.start(place, kind);
    try {
      const sql = async (text: string): Promise<string> => {
        const target = await there.target();
        const as = { program: 'mariadb', user: 'own', database: 'shop' } as const;
        const spec = mariadbClient(target, as, ['--batch', '--skip-column-names']);
        return (await feed(target, spec, pieces(Buffer.from(text)), never)).toString();
      };
      await sql(`CREATE TABLE teas (id INT PRIMARY KEY, name TEXT); CREATE VIEW few AS SELECT * FROM teas WHERE id < 3;
        INSERT INTO teas SELECT seq, CONCAT('tea ', seq) FROM seq_1_to_500;`);
      const state = (): Promise<string> =>
        sql('SELECT COUNT(*), MAX(name) FROM teas; SELECT * FROM few;');
      const first = await state();
      const bytes = await there.dumped();
      await sql('DROP VIEW few; DROP TABLE teas; CREATE TABLE other (i INT);');
      await there.restore('sql', bytes);
      assert.equal(await state(), first);
      assert.equal(await sql("SHOW TABLES LIKE 'other'"), '');
      await assert.rejects(there.restore('sql', Buffer.from('SELECT broken')), /as it was\.$/);
      assert.equal(await state(), first);
    } finally {
      await there.close();
    }
  });

  it('bring Redis back, or put the previous data back', async () => {
    const kind = { engine: 'REDIS', image: redisImage, version: '7' } as const;
    const there = await ContainerDatabase.start(place, kind);
    try {
      const ask = async (line: string): Promise<string> => {
        const env = { REDISCLI_AUTH: there.server.password };
        const input = pieces(Buffer.from(`${line}\n`));
        return (await feed(await there.target(), { command: ['redis-cli'], env }, input, never)).toString(); // prettier-ignore
      };
      await ask("EVAL \"for i = 1, 5000 do redis.call('SET', 'key ' .. i, i * 3) end\" 0");
      const bytes = await there.dumped();
      await ask('FLUSHALL');
      await ask('SET other 1');
      const broken = Buffer.from(bytes).fill(0x5a, 3000, 9000);
      await assert.rejects(there.restore('rdb', broken), /The previous data is back\.$/);
      await assert.rejects(there.restore('rdb', Buffer.from('SELECT')), /The data is as it was\.$/);
      assert.equal(await ask('GET other'), '1\n');
      await there.restore('rdb', bytes);
      assert.equal(await ask('DBSIZE'), '5000\n');
      assert.equal(await ask('GET "key 77"'), '231\n');
    } finally {
      await there.close();
    }
  });
});
